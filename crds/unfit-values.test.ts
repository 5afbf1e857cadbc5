import { expect, test } from "vitest";
import { unfitColumns, unfitText } from "./unfit-values.ts";

const one = (rows: number, values?: number, eventID?: string) => ({
	...{ column: "a", rows },
	...(values !== undefined && { values }),
	...(eventID !== undefined && { eventID }),
});

test.each([
	["all values", one(4, 4), true],
	["one of three", one(1, 3), true],
	["one in a hundred", one(1, 100), true],
	["fewer than one in a hundred", one(1, 101), false],
	// Of a thousand rows, the others have no value there.
	["all of a column that few events have", one(2, 2), true],
	["a count of an earlier build, by its rows", one(9), false],
])("%s: whether they count as unfit", (_, unfit, counts) => {
	const found = unfitColumns({ rows: 1_000, unfitValues: [unfit] });
	expect(found.length).toBe(counts ? 1 : 0);
});

test("the column with the largest share is told, with an event and the others' names", () => {
	const unfitValues = [
		{ ...one(50, 100, "e1"), column: "most" },
		{ ...one(2, 2, "e2"), column: "all" },
	];
	expect(unfitText(unfitColumns({ rows: 100, unfitValues }))).toBe(
		'2 of 2 values of column "all" (100 %) don\'t fit its type, such as that of event e2. So it is with "most".',
	);
	expect(unfitText([one(1_999, 2_000) as never])).toContain("(99 %)");
	expect(unfitText([])).toBe("");
	expect(unfitColumns({})).toEqual([]);
});
