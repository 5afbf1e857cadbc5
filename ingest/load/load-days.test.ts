import { expect, test } from "vitest";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { planDays } from "./load-days.ts";

function object(key: string, rows: number) {
	return { key, url: `https://s3/${key}`, rows, bytes: 10 * rows };
}

const dates = [
	{ date: "2026-03-01", rows: 3, objects: [object("a", 1), object("b", 2)] },
	{ date: "2026-03-02", rows: 0, objects: [] },
	{ date: "2026-03-03", rows: 4, objects: [object("c", 4)] },
];

test("every day of the manifest is loaded in order, even an empty one, with a file for each object", () => {
	expect(planDays({ dates } as unknown as Manifest, "/s")).toEqual([
		{
			date: "2026-03-01",
			rows: 3,
			objects: [
				{ ...object("a", 1), file: "/s/2026-03-01-0.parquet" },
				{ ...object("b", 2), file: "/s/2026-03-01-1.parquet" },
			],
		},
		{ date: "2026-03-02", rows: 0, objects: [] },
		{
			date: "2026-03-03",
			rows: 4,
			objects: [{ ...object("c", 4), file: "/s/2026-03-03-0.parquet" }],
		},
	]);
});
