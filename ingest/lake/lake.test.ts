import pino from "pino";
import { expect, test } from "vitest";
import { hourly } from "./lake.ts";

test("failures are repeated ever more seldom, and a success begins anew", async () => {
	const stop = new AbortController();
	const outcomes = "xxxxxx.x.".split("");
	const work = async () => {
		const outcome = outcomes.shift();
		if (outcomes.length === 0) stop.abort();
		if (outcome === "x") throw new Error("no store");
	};
	const minutes: number[] = [];
	await hourly("work", work, {
		log: pino({ level: "silent" }),
		signal: stop.signal,
		wait: async (ms) => void minutes.push(ms / 60_000),
		random: () => 1,
	});
	expect(minutes).toEqual([1, 2, 4, 8, 10, 10, 60, 1, 60]);
});
