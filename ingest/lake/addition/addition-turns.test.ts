import { expect, test } from "vitest";
import { FairLimit } from "../../../packages/fair/fair-limit.ts";
import { addInTurns } from "./addition-turns.ts";

const dates = ["2026-03-01", "2026-03-02", "2026-03-03"];

function additions() {
	const turns = new FairLimit({ atOnce: 1 });
	const log: string[] = [];
	const stop = new AbortController();
	const add = (account: string, days: string[], parts = 1) => {
		const works = days.map((name) => {
			let left = parts;
			const next = async () => {
				log.push(`${account} begins ${name}`);
				await Promise.resolve();
				log.push(`${account} ends ${name}`);
				return --left > 0;
			};
			return { name, next };
		});
		return addInTurns(account, works, turns, { stopping: stop.signal });
	};
	return { log, add, stop };
}

test("an account's many Operations let another account's have its turn after each date", async () => {
	const { log, add } = additions();
	const long = Array.from({ length: 5 }, () => add("shop", dates));
	const short = add("bank", [dates[2]!]);
	await Promise.all([...long, short]);
	// One date was begun before the other account asked, and one is the first account's next turn.
	expect(log.indexOf("bank begins 2026-03-03")).toBe(4);
	expect(log).toHaveLength(2 * (5 * dates.length + 1));
});

test("an account's addition to one date lets another account's have its turn after each part", async () => {
	const { log, add } = additions();
	const long = add("shop", [dates[0]!], 5);
	const short = add("bank", [dates[0]!]);
	await Promise.all([long, short]);
	expect(log.indexOf("bank begins 2026-03-01")).toBe(2);
	expect(log).toHaveLength(2 * (5 + 1));
});

test("an account has 16 Operations waiting at most, and those of others aren't refused for it", async () => {
	const { add } = additions();
	const many = Array.from({ length: 40 }, () => add("shop", dates));
	const other = add("bank", dates);
	const outcomes = await Promise.allSettled(many);
	const refused = outcomes.filter(({ status }) => status === "rejected");
	// One of the others has its turn at once.
	expect(refused).toHaveLength(40 - 17);
	expect(refused[0]).toMatchObject({ reason: { code: "ArchiveBusy" } });
	await other;
});

test("one step is taken at a time", async () => {
	const { log, add } = additions();
	await Promise.all([add("shop", dates), add("bank", dates)]);
	for (let at = 0; at < log.length; at += 2)
		expect(log[at + 1]).toBe(log[at]!.replace("begins", "ends"));
});

test("a stopping archive begins no step", async () => {
	const { log, add, stop } = additions();
	stop.abort(new Error("stopping"));
	await expect(add("shop", dates)).rejects.toThrow("stopping");
	expect(log).toEqual([]);
});
