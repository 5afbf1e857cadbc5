import { expect, test } from "vitest";
import { exportCursorForm } from "../../../packages/contracts/transfer.ts";
import { RequestFailure } from "../request/errors.ts";
import { exportPage } from "./exports.ts";

/** Dates with so many objects each. */
function exported(counts: Record<string, number>) {
	const dates = Object.entries(counts).map(([date, count]) => ({
		date,
		rows: count,
		objects: Array.from({ length: count }, (_, at) => ({
			key: `${date}/${at}`,
			url: "",
			rows: 1,
			bytes: 1,
		})),
	}));
	const linked: number[] = [];
	const page = (after: string) =>
		exportPage(dates, after, {
			current: async ({ objects }) => objects,
			withLinks: async (some) => {
				linked.push(some.length);
				return some.map((each) => ({ ...each, url: `https://s3/${each.key}` }));
			},
		});
	return { dates, page, linked };
}

test("each file is on one page, and no page has more than 200, however many a date has", async () => {
	const { dates, page, linked } = exported({
		"2026-03-01": 3,
		"2026-03-02": 450,
		"2026-03-03": 0,
		"2026-03-04": 200,
		"2026-03-05": 1,
	});
	const urls: string[] = [];
	for (let after: string | undefined = ""; after !== undefined; ) {
		const { files, next }: Awaited<ReturnType<typeof page>> = await page(after);
		expect(files.length).toBeLessThanOrEqual(200);
		urls.push(...files.map(({ url }) => url));
		if (next !== undefined) expect(next).toMatch(exportCursorForm);
		after = next;
	}
	const keys = dates.flatMap(({ objects }) => objects.map(({ key }) => key));
	expect(urls).toEqual(keys.map((key) => `https://s3/${key}`));
	expect(linked.reduce((sum, each) => sum + each, 0)).toBe(keys.length);
});

test("a page within a date that was compacted begins again: no event comes twice, and none is left out", async () => {
	const { dates, page } = exported({ "2026-03-01": 250 });
	const { next } = await page("");
	dates[0]!.objects.splice(100, 150, {
		...dates[0]!.objects[0]!,
		key: "2026-03-01/merged",
		rows: 150,
	});
	await expect(page(next!)).rejects.toMatchObject({ code: "CursorExpired" });
	expect((await page("")).files).toHaveLength(101);
});

test("a date whose events can't be separated from later ones any more fails alone, after all others", async () => {
	const { dates, page } = exported({ "2026-03-01": 2, "2026-03-02": 2 });
	const outdated = new RequestFailure("ManifestOutdated", "Compacted");
	const today = dates.pop()!;
	dates.push({
		...today,
		get objects(): typeof today.objects {
			throw outdated;
		},
	});
	const { files, next } = await page("");
	expect(files.map(({ date }) => date)).toEqual(["2026-03-01", "2026-03-01"]);
	await expect(page(next!)).rejects.toBe(outdated);
});
