import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { documentedText } from "../../../test/support/examples/documented.ts";
import { quoteText } from "../../duckdb/quoting.ts";
import { Session } from "../../duckdb/session.ts";
import { defineBodyValues } from "./body-values.ts";
import { bodyValueSql, columnSql, eventRows } from "./columns.ts";

/* Accepted bodies, odd ones among them, through the query of docs/reference/columns.md and through a column. */

/** The same each time. */
function choices(seed: number) {
	let state = seed;
	const below = (end: number) => {
		state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
		return Math.floor((state / 2_147_483_648) * end);
	};
	return {
		below,
		of: <T>(values: readonly T[]) => values[below(values.length)]!,
	};
}

const halves = [String.raw`"cut \ud83c"`, String.raw`"\uDC00"`];
const values = [
	"1.10",
	"-0",
	"1e400",
	"-1e-400",
	"12345678901234567.89",
	"9".repeat(500),
	"null",
	"true",
	'""',
	'"}"',
	String.raw`"\\"`,
	String.raw`"\"type\":1"`,
	String.raw`"a\u0000b"`,
	String.raw`"\ud83d\ude00"`,
	'"ü\u2028"',
	"[".repeat(2_000) + "]".repeat(2_000),
	'[ {"type" : "inner"} ,\t1 ]',
	'{"type":{"type":"inner"}}',
];
const names = ['"a"', '"b"', '""', String.raw`"\n"`, '"Type"', '"type "'];
const typeNames = ['"type"', '"type"', String.raw`"\u0074ype"`];
const types = ["order.created", "ü 🎉", "", "1.10", "a\0b"];

function bodyOf({ below, of }: ReturnType<typeof choices>) {
	const space = () => of(["", "", " ", "\r\n\t"]);
	const type = of(types);
	const isTwice = below(8) === 0;
	const isCut = below(8) === 0;
	const members = [
		`${of(typeNames)}${space()}:${space()}${JSON.stringify(type)}`,
	];
	for (let n = below(6); n > 0; n--)
		members.splice(below(members.length + 1), 0, `${of(names)}:${of(values)}`);
	if (isTwice) members.unshift(`${of(typeNames)}:"evil"`);
	if (isCut) members.splice(below(2), 0, `${of(names)}:${of(halves)}`);
	return {
		body: `${space()}{${members.join(`${space()},${space()}`)}}${space()}`,
		type,
		isTwice,
		isCut,
	};
}

test("a column of accepted bodies has each value, and the documented query each value but those of bodies that DuckDB can't read", async () => {
	const query = documentedText(
		"docs/reference/columns.md#bodies-in-queries sql",
	);
	const [expression] = /TRY_CAST\(.*?'(?= AS)/.exec(query)!;
	const directory = await mkdtemp(join(tmpdir(), "queries-"));
	const file = join(directory, "orders.parquet");
	const session = await Session.inMemory({}, new AbortController().signal);
	try {
		defineBodyValues(session);
		const choice = choices(39);
		const bodies = Array.from({ length: 3_000 }, () => bodyOf(choice));
		const rows = bodies.map(({ body }, n) => `(${n}, ${quoteText(body)})`);
		await session.run(
			`CREATE TABLE orders AS SELECT * FROM (VALUES ${rows.join(", ")}) AS t(n, body)`,
		);
		await session.run(`COPY orders TO ${quoteText(file)} (FORMAT parquet)`);
		const from = { bodyPointer: "/type", type: "String" } as const;
		const column = { name: "type", from };
		const { isUnfit } = bodyValueSql(from, 0);
		const found = await session.rows<{
			own: string;
			value: string;
			is_unfit: boolean;
		}>(
			`SELECT ${expression} AS own, ${columnSql(column).expression} AS value, ${isUnfit} AS is_unfit` +
				` FROM ${eventRows([{ file }], [column])} ORDER BY n`,
		);
		expect(found).toEqual(
			bodies.map(({ type, isTwice, isCut }) => ({
				own: isCut ? null : isTwice ? "evil" : type,
				value: type,
				is_unfit: isTwice,
			})),
		);
		expect((await session.rows(query)).length).toBeGreaterThan(types.length);
	} finally {
		session.close();
		await rm(directory, { recursive: true });
	}
});
