import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WorkQueue } from "./work-queue.ts";

beforeEach(() => {
	vi.useFakeTimers();
});
afterEach(() => {
	vi.useRealTimers();
});

test("a key added twice while it waits is taken once", async () => {
	const queue = new WorkQueue("test");
	queue.add("a");
	queue.add("b");
	queue.add("a");
	expect([await queue.take(), await queue.take()]).toEqual(["a", "b"]);
	expect(queue.length).toBe(0);
});

test("a key added while it is in work comes again once that work is done", async () => {
	const queue = new WorkQueue("test");
	queue.add("a");
	await queue.take();
	queue.add("a");
	queue.add("a");
	expect(queue.length).toBe(0);
	queue.done("a");
	expect(queue.length).toBe(1);
	expect(await queue.take()).toBe("a");
	queue.done("a");
	expect(queue.length).toBe(0);
});

test("two waiting workers never get the same key at once", async () => {
	const queue = new WorkQueue("test");
	const first = queue.take();
	const second = queue.take();
	queue.add("a");
	queue.add("a");
	queue.add("b");
	expect([await first, await second]).toEqual(["a", "b"]);
});

test("namespaces take turns, so that a key waits behind those of its own namespace alone", async () => {
	const queue = new WorkQueue("test");
	for (const key of ["a/1", "a/2", "a/3", "a/4", "b/1", "c/1"]) queue.add(key);
	expect(queue.length).toBe(6);
	const order: (string | undefined)[] = [];
	for (let index = 0; index < 4; index++) order.push(await queue.take());
	queue.add("d/1");
	while (queue.length > 0) order.push(await queue.take());
	expect(order).toEqual(["a/1", "b/1", "c/1", "a/2", "a/3", "d/1", "a/4"]);
});

test("a delayed key comes after its delay, the earliest of several", async () => {
	const queue = new WorkQueue("test");
	queue.addAfter("a", 10_000);
	queue.addAfter("a", 1_000);
	queue.addAfter("a", 20_000);
	vi.advanceTimersByTime(999);
	expect(queue.length).toBe(0);
	vi.advanceTimersByTime(1);
	expect(await queue.take()).toBe("a");
	queue.done("a");
	vi.advanceTimersByTime(60_000);
	expect(queue.length).toBe(0);
});

test("a delay longer than a timer can hold does not end at once", () => {
	const queue = new WorkQueue("test");
	queue.addAfter("yearly", 365 * 86_400_000);
	vi.advanceTimersByTime(86_399_999);
	expect(queue.length).toBe(0);
});

test("a key that keeps failing waits longer each time, up to a bound, until it is forgotten", () => {
	const queue = new WorkQueue("test", { baseMs: 5, maxMs: 300_000 });
	const waits = Array.from({ length: 30 }, () => queue.addAfterFailure("a"));
	expect(waits[0]).toBeGreaterThanOrEqual(2.5);
	expect(waits[0]).toBeLessThanOrEqual(5);
	expect(waits[10]).toBeGreaterThanOrEqual((5 * 2 ** 10) / 2);
	expect(Math.max(...waits)).toBeLessThanOrEqual(300_000);
	expect(waits.at(-1)).toBeGreaterThanOrEqual(150_000);
	expect(queue.addAfterFailure("b")).toBeLessThanOrEqual(5);
	queue.forget("a");
	expect(queue.addAfterFailure("a")).toBeLessThanOrEqual(5);
});

test("a stopped queue releases its workers and accepts no more keys", async () => {
	const queue = new WorkQueue("test");
	const worker = queue.take();
	queue.addAfter("later", 10);
	queue.stop();
	expect(await worker).toBeUndefined();
	queue.add("a");
	vi.advanceTimersByTime(100);
	expect(await queue.take()).toBeUndefined();
});

test("many keys of a namespace that fail at once come back at ten a second, and delay no other namespace's", () => {
	const queue = new WorkQueue("test");
	const waits = Array.from({ length: 300 }, (_, i) =>
		queue.addAfterFailure(`a/key-${i}`),
	);
	expect(queue.addAfterFailure("b/key")).toBeLessThanOrEqual(5);
	expect(Math.max(...waits.slice(0, 100))).toBeLessThanOrEqual(5);
	expect(waits[199]).toBeCloseTo(10_000, -2);
	expect(waits[299]).toBeCloseTo(20_000, -2);
});
