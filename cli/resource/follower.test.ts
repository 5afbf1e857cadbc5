import { expect, test } from "vitest";
import { loadedText } from "./follower.ts";

const metadata = { name: "orders-1", namespace: "shop" };
const dates = { start: "2026-03-01", end: "2026-03-02" };

test.each([
	[{ rows: 1, dates }, "Loaded 1 row of 2026-03-01 to 2026-03-02.\n"],
	[{ rows: 1_200 }, "Loaded 1,200 rows.\n"],
	[
		{ rows: 0, dates },
		"Loaded 0 rows: the pipeline's source has no events for it of 2026-03-01 to 2026-03-02. See what came and what was refused: tidemill sources list -n shop\n",
	],
	[
		{},
		"Loaded 0 rows: the pipeline's source has no events for it. See what came and what was refused: tidemill sources list -n shop\n",
	],
])(
	"a Run that succeeded with %j says what it loaded, or where to look",
	(status, text) => {
		expect(loadedText({ metadata, status } as never)).toBe(text);
	},
);
