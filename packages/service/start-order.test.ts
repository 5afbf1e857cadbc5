import { expect, test, vi } from "vitest";
import { createLog } from "./log.ts";
import {
	type ProcessPart,
	runInOrder,
	type StartedPart,
} from "./start-order.ts";

const log = createLog("test");
log.level = "silent";
const options = { stopTimeoutMs: 50, log };
const wait = { timeout: 60_000 };

function recorded() {
	const seen: string[] = [];
	const part = (
		name: string,
		started: Partial<StartedPart> = {},
	): ProcessPart => ({
		name,
		start: async () => {
			seen.push(`+${name}`);
			return {
				stop: async () => {
					seen.push(`-${name}`);
				},
				...started,
			};
		},
	});
	return { seen, part };
}

test("parts start in order and stop in reverse order", async () => {
	const { seen, part } = recorded();
	const stop = new AbortController();
	const running = runInOrder(
		[part("a"), part("b"), part("c")],
		stop.signal,
		options,
	);
	await vi.waitUntil(() => seen.length === 3, wait);
	stop.abort();
	await running;
	expect(seen).toEqual(["+a", "+b", "+c", "-c", "-b", "-a"]);
});

test("a part that can't start stops the parts before it, and its error is thrown", async () => {
	const { seen, part } = recorded();
	const broken: ProcessPart = {
		name: "b",
		start: () => Promise.reject(new Error("no b")),
	};
	const parts = [part("a"), broken, part("c")];
	await expect(
		runInOrder(parts, new AbortController().signal, options),
	).rejects.toThrow("no b");
	expect(seen).toEqual(["+a", "-a"]);
});

test("a part that fails later stops all parts", async () => {
	const { seen, part } = recorded();
	const failed = Promise.reject(new Error("a is broken"));
	const parts = [part("a", { failed }), part("b")];
	await expect(
		runInOrder(parts, new AbortController().signal, options),
	).rejects.toThrow("a is broken");
	expect(seen).toEqual(["+a", "+b", "-b", "-a"]);
});

test("the signal interrupts a part that is starting, and no further part starts", async () => {
	const { seen, part } = recorded();
	const stop = new AbortController();
	const waits: ProcessPart = {
		name: "b",
		start: (stopping) =>
			new Promise((_, reject) =>
				stopping.addEventListener("abort", () => reject(stopping.reason)),
			),
	};
	const running = runInOrder(
		[part("a"), waits, part("c")],
		stop.signal,
		options,
	);
	await vi.waitUntil(() => seen.length === 1, wait);
	stop.abort();
	await running;
	expect(seen).toEqual(["+a", "-a"]);
});

test("a part that doesn't stop in time keeps the parts that it needs and is named in the error", async () => {
	const { seen, part } = recorded();
	const stop = new AbortController();
	const stuck = part("b", { stop: () => new Promise(() => {}) });
	const running = runInOrder([part("a"), stuck], stop.signal, options);
	await vi.waitUntil(() => seen.length === 2, wait);
	stop.abort();
	await expect(running).rejects.toThrow("b did not stop in 50 ms");
	expect(seen).toEqual(["+a", "+b"]);
});
