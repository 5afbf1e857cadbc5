import { expect, test } from "vitest";
import { progressOf } from "./load-table.ts";

test.each([
	[0, 0],
	[9, 0],
	[10, 1],
	[14, 1],
	[15, 2],
	[35, 3],
])(
	"of days with 10, 5 and 20 rows, %i rows complete %i days",
	(rowsDone, daysDone) => {
		expect(
			progressOf([{ rows: 10 }, { rows: 5 }, { rows: 20 }], rowsDone),
		).toEqual({ daysDone, daysTotal: 3, rowsDone, rowsTotal: 35 });
	},
);
