import {
	exactNumber,
	parseNumbersAsTexts,
} from "../../../service/exact-json.ts";
import { distinctNames } from "../../load/query-output.ts";
import type { WarehouseQuery } from "../../load/warehouse.ts";
import type { ClickHouseInput } from "../input.ts";
import { Connection } from "./connection.ts";

const format = "JSONCompactEachRowWithNamesAndTypes";

export const query: WarehouseQuery = async (input, sql, secret, use) => {
	const given = input as ClickHouseInput;
	const { signal } = new AbortController();
	const connection = await Connection.open(
		given,
		{ signal },
		secret,
		given.database,
	);
	try {
		const lines = connection.lines(`${sql}\nFORMAT ${format}`);
		// Two lines before the rows; without a result there are none.
		const [names, types] = [
			await nextOf<string>(lines),
			await nextOf<string>(lines),
		];
		const numeric = types.map((type) => numberType.test(type));
		async function* cells() {
			// 64-bit integers come as strings, and JSON.parse would round other numbers.
			for await (const line of lines)
				yield parseNumbersAsTexts(line) as unknown[];
		}
		async function* texts() {
			for await (const row of cells())
				yield row.map((cell) =>
					cell === null || typeof cell === "string"
						? cell
						: JSON.stringify(cell),
				);
		}
		async function* values() {
			for await (const row of cells())
				yield row.map((cell, index) =>
					numeric[index] && typeof cell === "string"
						? (exactNumber(cell) ?? cell)
						: cell,
				);
		}
		await use({
			columns: distinctNames(names).map((name, index) => ({
				name,
				numeric: numeric[index]!,
			})),
			texts: texts(),
			values: values(),
		});
	} finally {
		await connection.close();
	}
};

const numberType =
	/^(?:LowCardinality\(|Nullable\()*(?:U?Int|Float|BFloat|Decimal)\d*/;

async function nextOf<T>(lines: AsyncGenerator<string>): Promise<T[]> {
	const { value, done } = await lines.next();
	return done ? [] : JSON.parse(value);
}
