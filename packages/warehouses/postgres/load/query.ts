import { exactNumber, parseExact } from "../../../service/exact-json.ts";
import { distinctNames } from "../../load/query-output.ts";
import type { WarehouseQuery } from "../../load/warehouse.ts";
import type { PostgresInput } from "../input.ts";
import { Database } from "./database.ts";

/** Oids of types (pg_type.dat of Postgres), which never change. */
const numbers = new Set([20, 21, 23, 26, 700, 701, 1700]);
const boolean = 16;
const jsons = new Set([114, 3802]);

export const query: WarehouseQuery = async (input, sql, secret, use) => {
	const given = input as PostgresInput;
	const { signal } = new AbortController();
	const database = await Database.open(given, { signal }, secret);
	try {
		const pages = database.read(given.schema, sql);
		const first = await pages.next();
		const { fields = [], rows = [] } = first.done ? {} : first.value;
		const names = distinctNames(fields.map(({ name }) => name));
		async function* texts() {
			yield* rows as (string | null)[][];
			for await (const page of pages) yield* page.rows as (string | null)[][];
		}
		async function* values() {
			for await (const row of texts())
				yield row.map((text, index) => jsonOf(text, fields[index]!.dataTypeID));
		}
		await use({
			columns: fields.map(({ dataTypeID }, index) => ({
				name: names[index]!,
				numeric: numbers.has(dataTypeID),
			})),
			texts: texts(),
			values: values(),
		});
	} finally {
		await database.close();
	}
};

function jsonOf(text: string | null, type: number): unknown {
	if (text === null) return null;
	if (type === boolean) return text === "t";
	if (jsons.has(type)) return parseExact(text);
	return numbers.has(type) ? (exactNumber(text) ?? text) : text;
}
