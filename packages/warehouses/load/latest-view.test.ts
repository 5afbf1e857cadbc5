import { expect, test } from "vitest";
import type { LoadInput } from "../../contracts/job.ts";
import { writeComment } from "./columns.ts";
import {
	columnsBetween,
	type FoundView,
	rewrittenWords,
	viewChange,
	viewMarkIn,
} from "./latest-view.ts";

const inputOf = (by = ["id"], adopt?: true) =>
	({
		run: { name: "r", uid: "u", account: "shop", pipeline: "orders" },
		table: {
			name: "orders",
			columns: [],
			description: "",
			latest: { name: "orders_latest", by },
		},
		...(adopt && { adopt }),
	}) satisfies Pick<LoadInput, "run" | "table" | "adopt">;

const made = viewChange(inputOf(), undefined, "SELECT 1");
if (made?.do !== "Write") throw new Error("A view is made.");
const ours: FoundView = { kind: "view", mark: made.mark };
const others: FoundView = {
	kind: "view",
	mark: { ...made.mark, pipeline: "shop/other" },
};
const mine: FoundView = { kind: "table", mark: undefined };

test.each([
	["nothing is there", undefined, ["id"], "Write"],
	["it is as it shall be", ours, ["id"], undefined],
	["it has another key", ours, ["id", "region"], "Write"],
	["no view is wanted", ours, [], "Drop"],
	["no view is wanted, and another Pipeline's is there", others, [], undefined],
	["no view is wanted, and a person's table is there", mine, [], undefined],
	["another Pipeline's is there", others, ["id"], "ViewNotOurs"],
	["a person's table is there", mine, ["id"], "ViewNotOurs"],
] as const)("if %s", (_, found, by, end) => {
	const change = () =>
		viewChange(
			inputOf([...by]),
			found,
			by.length > 1 ? "SELECT 2" : "SELECT 1",
		);
	if (end === "ViewNotOurs")
		expect(change).toThrow(expect.objectContaining({ code: end }));
	else expect(change()?.do).toBe(end);
});

test("a Pipeline that adopts takes over another's view, and no person's", () => {
	const adopting = inputOf(["id"], true);
	expect(viewChange(adopting, others, "SELECT 1")).toEqual(made);
	expect(() => viewChange(adopting, mine, "SELECT 1")).toThrow("orders_latest");
});

test("a view that reads another table is written anew, and one of no key is dropped all the same", () => {
	expect(viewChange(inputOf(), ours, "SELECT 1", true)).toEqual(made);
	expect(viewChange(inputOf([]), ours, "SELECT 1", true)?.do).toBe("Drop");
});

test("a view that a person changed is written anew, and people are told; one that another key changes anyway tells nothing", () => {
	const words = (found: FoundView, sql = "SELECT 1") =>
		rewrittenWords(viewChange(inputOf(), found, sql));
	expect(words({ ...ours, isAsMade: false })).toMatch(
		/^View orders_latest wasn't as a Run had left it/,
	);
	expect(words({ ...ours, isAsMade: false }, "SELECT 2")).toBeUndefined();
	expect(viewChange(inputOf(), { ...ours, isAsMade: true }, "SELECT 1")).toBe(
		undefined,
	);
});

test("a comment tells the view's mark, and that of a table is none", () => {
	const { words, mark } = made;
	expect(viewMarkIn(writeComment(words, mark))).toEqual(mark);
	const table = { run: "u", snapshotMs: 1, pipeline: "shop/orders" };
	expect(viewMarkIn(writeComment(words, table))).toBeUndefined();
	expect(viewMarkIn("Mine.")).toBeUndefined();
	expect(viewMarkIn(null)).toBeUndefined();
});

test("while a table loses columns, its view has those that both tables have alike, if the key is one", () => {
	const text = (name: string, from: "EventID" | "Timestamp" | undefined) => ({
		name,
		from: from ?? { bodyPointer: `/${name}`, type: "String" as const },
		type: "text",
	});
	const both = [
		text("event_id", "EventID"),
		text("timestamp", "Timestamp"),
		text("id", undefined),
	];
	const [old, other] = [text("old", undefined), text("other", undefined)];
	const between = (existing: typeof both, wanted: typeof both, by = ["id"]) => {
		const table = { ...inputOf(by).table, columns: wanted };
		const columns = columnsBetween(table, existing, wanted);
		return Array.isArray(columns) ? columns.map(({ name }) => name) : columns;
	};
	const names = ["event_id", "timestamp", "id"];
	expect(between([...both, old], both)).toEqual(names);
	expect(between([...both, old], [...both, other])).toEqual(names);
	expect(
		between([...both, old], [...both, { ...old, type: "number" }]),
	).toEqual(names);
	// Nothing is lost, so that the view that is there can be read all the time.
	expect(between(both, [...both, other])).toBeUndefined();
	expect(between([...both, old], [...both, other], ["other"])).toBe("NoKey");
	expect(between([...both.slice(1), old], both)).toBe("NoKey");
});
