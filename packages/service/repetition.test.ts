import pino from "pino";
import { expect, test } from "vitest";
import { repeatedly } from "./repetition.ts";

/** Seconds of each wait, while the work has these outcomes: `x` for a failure. */
async function waitsOf(
	all: string,
	options: { intervalMs: number; jitter?: number; firstMs?: number },
	random = () => 1,
	tell: (isFailing: boolean) => void = () => {},
): Promise<number[]> {
	const stop = new AbortController();
	const outcomes = all.split("");
	const work = async () => {
		const outcome = outcomes.shift();
		if (outcomes.length === 0) stop.abort();
		if (outcome === "x") throw new Error("no store");
	};
	const seconds: number[] = [];
	await repeatedly("work", work, {
		...options,
		log: pino({ level: "silent" }),
		signal: stop.signal,
		tell,
		wait: async (ms) => void seconds.push(ms / 1_000),
		random,
	});
	return seconds;
}

test("failures are repeated ever more seldom, and a success begins anew", async () => {
	const seconds = await waitsOf("xxxxxx.x.", { intervalMs: 3_600_000 });
	expect(seconds.map((each) => each / 60)).toEqual([
		1, 2, 4, 8, 10, 10, 60, 1, 60,
	]);
});

test("each time says whether it failed", async () => {
	const told: boolean[] = [];
	const tell = (isFailing: boolean) => void told.push(isFailing);
	await waitsOf("x.xx..", { intervalMs: 3_600_000 }, () => 1, tell);
	expect(told).toEqual([true, false, true, true, false, false]);
});

test("work of every few seconds isn't repeated every few seconds while it fails", async () => {
	const often = { intervalMs: 5_000, firstMs: 10_000 };
	expect(await waitsOf("..xxxxxxxxx.", often)).toEqual([
		10, 5, 5, 5, 10, 20, 40, 80, 160, 320, 600, 600, 5,
	]);
});

test("archives that failed together don't try again together", async () => {
	for (const [random, expected] of [
		[0, [30, 60, 300]],
		[1, [60, 120, 900]],
	] as const)
		expect(
			await waitsOf("xx.x", { intervalMs: 600_000, jitter: 0.5 }, () => random),
		).toEqual(expected);
});
