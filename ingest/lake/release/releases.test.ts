import { expect, test } from "vitest";
import { FairLimit } from "../../../packages/fair/fair-limit.ts";
import { releaseInTurns } from "./releases.ts";

const dates = ["2026-03-01", "2026-03-02", "2026-03-03"];

function releases() {
	const turns = new FairLimit({ atOnce: 1 });
	const log: string[] = [];
	const stop = new AbortController();
	const release = (account: string, days: string[], events = 1, parts = 1) =>
		releaseInTurns(account, days, turns, { stopping: stop.signal }, (date) => {
			let left = parts;
			return {
				events,
				next: async () => {
					log.push(`${account} begins ${date}`);
					await Promise.resolve();
					log.push(`${account} ends ${date}`);
					return --left > 0;
				},
			};
		});
	return { log, release, stop };
}

test("an account's many releases let another account's have its turn after each date", async () => {
	const { log, release } = releases();
	const long = Array.from({ length: 5 }, () => release("shop", dates));
	const short = release("bank", [dates[2]!]);
	await Promise.all([...long, short]);
	// One date was begun before the other account asked, and one is the first account's next turn.
	expect(log.indexOf("bank begins 2026-03-03")).toBe(4);
	for (const each of long)
		expect(await each).toEqual(dates.map((date) => ({ date, events: 1 })));
});

test("an account's release of one date lets another account's have its turn after each part", async () => {
	const { log, release } = releases();
	const long = release("shop", [dates[0]!], 7, 5);
	const short = release("bank", [dates[0]!]);
	expect(await long).toEqual([{ date: dates[0], events: 7 }]);
	await short;
	expect(log.indexOf("bank begins 2026-03-01")).toBe(2);
	expect(log).toHaveLength(2 * (5 + 1));
});

test("an account has 16 releases waiting at most, and those of others aren't refused for it", async () => {
	const { release } = releases();
	const many = Array.from({ length: 40 }, () => release("shop", dates));
	const other = release("bank", dates);
	const outcomes = await Promise.allSettled(many);
	const refused = outcomes.filter(({ status }) => status === "rejected");
	// One of the others has its turn at once.
	expect(refused).toHaveLength(40 - 17);
	expect(refused[0]).toMatchObject({ reason: { code: "ArchiveBusy" } });
	await other;
});

test("one date is released at a time", async () => {
	const { log, release } = releases();
	await Promise.all([release("shop", dates), release("bank", dates)]);
	for (let at = 0; at < log.length; at += 2)
		expect(log[at + 1]).toBe(log[at]!.replace("begins", "ends"));
});

test("dates without events aren't in the answer, and a stopping archive begins no date", async () => {
	const { log, release, stop } = releases();
	expect(await release("shop", dates, 0)).toEqual([]);
	stop.abort(new Error("stopping"));
	await expect(release("shop", dates)).rejects.toThrow("stopping");
	expect(log).toHaveLength(6);
});
