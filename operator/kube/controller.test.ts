import { expect, test, vi } from "vitest";
import { createLog } from "../../service/log.ts";
import { type Controller, ControllerLoop } from "./controller.ts";
import { metrics } from "./metrics.ts";

const log = createLog("test");
log.level = "silent";
const key = { namespace: "n", name: "a" };

function started(reconcile: Controller["reconcile"]) {
	const stop = new AbortController();
	const loop = new ControllerLoop({ name: "test", reconcile }, { log });
	return { loop, stop, running: loop.run(stop.signal) };
}

test("what throws is tried again until it works", async () => {
	const reconcile = vi.fn<Controller["reconcile"]>();
	reconcile.mockRejectedValueOnce(new Error("1"));
	reconcile.mockRejectedValueOnce(new Error("2"));
	const { loop, stop, running } = started(reconcile);
	loop.enqueue(key);
	await vi.waitUntil(() => reconcile.mock.calls.length === 3);
	expect(reconcile.mock.calls[2]![0]).toEqual(key);
	stop.abort();
	await running;
});

test("what can't be helped by trying again waits for the next change", async () => {
	vi.useFakeTimers();
	const reconcile = vi.fn<Controller["reconcile"]>();
	reconcile.mockResolvedValueOnce({ terminal: new Error("never") });
	const { loop, stop, running } = started(reconcile);
	loop.enqueue(key);
	await vi.advanceTimersByTimeAsync(3_600_000);
	expect(reconcile).toHaveBeenCalledTimes(1);
	loop.enqueue(key);
	await vi.advanceTimersByTimeAsync(1);
	expect(reconcile).toHaveBeenCalledTimes(2);
	stop.abort();
	await running;
	vi.useRealTimers();
});

test("what wants to be looked at again is", async () => {
	const reconcile = vi.fn<Controller["reconcile"]>();
	reconcile.mockResolvedValueOnce({ requeueAfterMs: 1 });
	const { loop, stop, running } = started(reconcile);
	loop.enqueue(key);
	await vi.waitUntil(() => reconcile.mock.calls.length === 2);
	stop.abort();
	await running;
});

test("stopping waits for what is under way", async () => {
	const { promise, resolve } = Promise.withResolvers<undefined>();
	const reconcile = vi.fn(() => promise);
	const { loop, stop, running } = started(reconcile);
	loop.enqueue(key);
	await vi.waitUntil(() => reconcile.mock.calls.length === 1);
	let ended = false;
	void running.then(() => {
		ended = true;
	});
	stop.abort();
	await new Promise(setImmediate);
	expect(ended).toBe(false);
	resolve(undefined);
	await running;
});

test("what a loop did is counted under controller-runtime's names", async () => {
	const reconcile = vi.fn<Controller["reconcile"]>();
	reconcile.mockRejectedValueOnce(new Error("1"));
	reconcile.mockResolvedValueOnce({ requeueAfterMs: 1 });
	const before = await counts();
	const { loop, stop, running } = started(reconcile);
	loop.enqueue(key);
	await vi.waitUntil(() => reconcile.mock.calls.length === 3);
	stop.abort();
	await running;
	const after = await counts();
	for (const result of ["error", "requeue_after", "success"])
		expect(after[result]! - (before[result] ?? 0)).toBe(1);
});

async function counts(): Promise<Record<string, number>> {
	const { values } = await metrics.reconciles.get();
	return Object.fromEntries(
		values.map(({ labels, value }) => [labels.result, value]),
	);
}
