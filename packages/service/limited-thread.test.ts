import { expect, test } from "vitest";
import { BeyondLimits, LimitedThread } from "./limited-thread.ts";

/** A thread that answers with its number, or never. */
const file = new URL(
	`data:text/javascript,${encodeURIComponent(`
		import { parentPort, threadId } from "node:worker_threads";
		parentPort.on("message", (question) => {
			while (question === "for ever");
			const kept = [];
			while (question === "everything") kept.push(new Array(1e6).fill(1));
			parentPort.postMessage(threadId);
		});
	`)}`,
);

test("work beyond the limits fails alone, and the next piece is done", async () => {
	const thread = new LimitedThread<string, number>(file, {
		cpuMs: 100,
		maxMegabytes: 32,
	});
	const first = thread.ask("now");
	const long = thread.ask("for ever");
	const large = thread.ask("everything");
	const last = thread.ask("now");
	await expect(long).rejects.toThrow(BeyondLimits);
	await expect(large).rejects.toThrow(BeyondLimits);
	expect(await last).toBeGreaterThan(await first);
});

test("a thread is replaced after a hundred pieces of work, so what a library keeps of them is bounded", async () => {
	const thread = new LimitedThread<string, number>(file, {
		cpuMs: 10_000,
		maxMegabytes: 64,
	});
	const threads = await Promise.all(
		Array.from({ length: 250 }, () => thread.ask("now")),
	);
	const counts = Map.groupBy(threads, (number) => number);
	expect([...counts.values()].map(({ length }) => length)).toEqual([
		100, 100, 50,
	]);
});
