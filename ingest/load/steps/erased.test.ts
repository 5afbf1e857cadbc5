import { expect, test } from "vitest";
import type { ManifestErasure } from "../../../packages/contracts/manifest.ts";
import { JobFailure } from "../../../packages/warehouses/load/failure.ts";
import type {
	RowAccess,
	RowStatement,
} from "../../../packages/warehouses/load/warehouse.ts";
import { erasedWords, eraseRows } from "./erased.ts";

const before = "2026-03-03";
const column = (name: string) => ({ name, type: "text", blank: "NULL" });
const columns = ["event_id", "date", "body"].map(column);

/** Two tables, of which the Run loads one. */
function accessWith(
	change: (table: string, statement: RowStatement) => number,
	count = 0,
): RowAccess {
	return {
		dialect: {
			table: (name) => name,
			name: (name) => name,
			text: (text) => `'${text}'`,
			date: (date) => `'${date}'`,
			bodyHas: (body) => `${body} has it`,
		},
		tables: async () => [
			{ name: "former", columns },
			{ name: "orders", columns },
		],
		count: async () => count,
		change: async (table, statement) => change(table, statement),
	};
}

const loaded = new Map([
	["orders", { columns: [], isReplaced: false, through: before }],
]);
const erasure: ManifestErasure = {
	mode: "RemoveRow",
	before,
	eventIDs: ["a"],
};

test.each<[string, JobFailure | undefined, string]>([
	["can't be erased", new JobFailure("TableIncompatible", "No"), "former"],
	["may be erased later", new JobFailure("Stopped", "Later"), ""],
	["can't be erased", new JobFailure("TableIncompatible", "No"), "orders"],
])("rows of a table that %s (%s, %s)", async (_, failure, refusing) => {
	const changed: string[] = [];
	const erasing = eraseRows(
		accessWith((table) => {
			if (refusing === "" || table === refusing) throw failure;
			changed.push(table);
			return 1;
		}),
		loaded,
		[erasure],
	);
	if (refusing !== "former") {
		await expect(erasing).rejects.toBe(failure);
		return;
	}
	const done = await erasing;
	expect(changed).toEqual(["orders"]);
	expect(erasedWords(done, 400)).toBe(
		"Rows of table former, which no Run loads, can't be erased: No.",
	);
});

test("a statement has at most 2,000 IDs, and each says which dates are meant", async () => {
	const eventIDs = Array.from({ length: 2_001 }, (_, index) => String(index));
	const statements: [string, string, number][] = [];
	await eraseRows(
		accessWith((table, { condition }) => {
			const [dates = "", ids = ""] = condition.split(" AND event_id IN ");
			statements.push([table, dates, ids.split(",").length]);
			return 0;
		}),
		loaded,
		[{ ...erasure, eventIDs }],
	);
	expect(statements).toEqual([
		["former", "date <= '2026-03-03'", 2_000],
		["former", "date <= '2026-03-03'", 1],
		["orders", "date < '2026-03-03'", 2_000],
		["orders", "date < '2026-03-03'", 1],
	]);
});

test("what is left is said, the worst first, as far as there is room", () => {
	const about = { rows: 2, mode: "BlankBody", before } as const;
	const done = [
		{ ...about, table: "a", isLoaded: true, unblankable: "x" },
		{ ...about, table: "b", isLoaded: true, untold: 3 },
		{ ...about, table: "c", isLoaded: false, refusal: "No." },
		{ ...about, table: "d", isLoaded: true },
	];
	const words = erasedWords(done, 1_000)!;
	expect(words.match(/table \w/g)).toEqual(["table c", "table b", "table a"]);
	expect(erasedWords(done, 50)).toBe(words.slice(0, 50));
	expect(erasedWords(done.slice(3), 50)).toBeUndefined();
});

test("what somebody has detached from a table is named, and how much there is", async () => {
	const access = accessWith(() => 1);
	access.detached = async ({ name }) =>
		name === "orders" ? ["orders_p1", "orders_p2", "orders_p3"] : [];
	const done = await eraseRows(access, loaded, [erasure]);
	expect(erasedWords(done, 400)).toBe(
		"What was detached from table orders can't be erased: orders_p1 and 2 more. Drop it, or attach it and erase again.",
	);
});
