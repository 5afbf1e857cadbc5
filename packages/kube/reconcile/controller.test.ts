import { afterEach, expect, test, vi } from "vitest";
import { createLog } from "../../service/log.ts";
import { KubeApiError } from "../client/errors.ts";
import { metrics } from "../metrics.ts";
import type { KubeObject } from "../resource.ts";
import { KubeObjectStore } from "../watch/store.ts";
import { type Controller, ControllerLoop, specChanged } from "./controller.ts";

const log = createLog("test");
log.level = "silent";
const key = { namespace: "n", name: "a" };
const wait = { timeout: 60_000 };

afterEach(() => {
	vi.useRealTimers();
	vi.restoreAllMocks();
});

function started(reconcile: Controller["reconcile"]) {
	const stop = new AbortController();
	const loop = new ControllerLoop({ name: "test", reconcile }, { log });
	return { loop, stop, running: loop.run(stop.signal) };
}

test("a reconcile that throws is retried until it succeeds", async () => {
	const reconcile = vi.fn<Controller["reconcile"]>();
	reconcile.mockRejectedValueOnce(new Error("1"));
	reconcile.mockRejectedValueOnce(new Error("2"));
	const { loop, stop, running } = started(reconcile);
	loop.enqueue(key);
	await vi.waitUntil(() => reconcile.mock.calls.length === 3, wait);
	expect(reconcile.mock.calls[2]![0]).toEqual(key);
	stop.abort();
	await running;
});

test.each(["Conflict", "AlreadyExists"])(
	"after %s any change is reconciled at once; after a success only changes that matter",
	async (reason) => {
		vi.useFakeTimers();
		// The backoff isn't over by chance when the change comes.
		vi.spyOn(Math, "random").mockReturnValue(0);
		const reconcile = vi.fn<Controller["reconcile"]>();
		reconcile.mockRejectedValue(new KubeApiError(409, { reason }));
		const stop = new AbortController();
		const loop = new ControllerLoop({ name: "test", reconcile }, { log });
		const store = new KubeObjectStore<KubeObject>(() => undefined);
		loop.watch(
			{ synced: Promise.resolve(), onChange: (heard) => store.onChange(heard) },
			undefined,
			specChanged,
		);
		const running = loop.run(stop.signal);
		const change = async (resourceVersion: string, waitMs: number) => {
			const metadata = { ...key, uid: "1", generation: 1, resourceVersion };
			store.put({ metadata });
			await vi.advanceTimersByTimeAsync(waitMs);
		};
		await change("1", 60_000);
		const failed = reconcile.mock.calls.length;
		reconcile.mockResolvedValue(undefined);
		await change("2", 1);
		expect(reconcile).toHaveBeenCalledTimes(failed + 1);
		await change("3", 1);
		expect(reconcile).toHaveBeenCalledTimes(failed + 1);
		stop.abort();
		await running;
	},
);

const refused = (status = 403) =>
	new KubeApiError(status, { message: "The quota is used up." }, undefined, {
		method: "POST",
		path: "/apis/batch/v1/namespaces/n/jobs",
	});

/** A loop under fake timers whose controller is refused, and what it does in the first five minutes. */
async function refusedFor(
	controller: Omit<Controller, "name">,
	meanwhile: (loop: ControllerLoop) => void = () => undefined,
) {
	vi.useFakeTimers();
	const stop = new AbortController();
	const loop = new ControllerLoop({ name: "test", ...controller }, { log });
	const running = loop.run(stop.signal);
	loop.enqueue(key);
	for (let second = 0; second < 300; second++) {
		meanwhile(loop);
		await vi.advanceTimersByTimeAsync(1_000);
	}
	stop.abort();
	await running;
}

test("a refused write is reported at once, and tried again after a second, then after up to a minute", async () => {
	const triedMs: number[] = [];
	const reconcile = async () => {
		triedMs.push(performance.now());
		throw refused();
	};
	const reportRefusal = vi.fn<NonNullable<Controller["reportRefusal"]>>();
	// Other changes wake the key each second.
	await refusedFor({ reconcile, reportRefusal }, (loop) => loop.enqueue(key));
	expect(reportRefusal.mock.calls[0]![1]).toMatchObject({
		failures: 1,
		error: { message: "The quota is used up." },
	});
	const afterAMinute = triedMs.filter((ms) => ms - triedMs[0]! > 60_000);
	expect(afterAMinute.length).toBeGreaterThan(2);
	expect(afterAMinute.length).toBeLessThan(240 / 25);
});

test("a success of another half doesn't reset the backoff of a refused write", async () => {
	let tries = 0;
	let turn = 0;
	const reconcile = async () => {
		turn++;
		// Archive is asked, and has answered at the next look.
		if (turn % 2) return { requeueAfterMs: 10 };
		tries++;
		throw refused(500);
	};
	await refusedFor({ reconcile, reportRefusal: async () => undefined });
	expect(tries).toBeGreaterThan(5);
	expect(tries).toBeLessThan(20);
});

test("a reconcile that leaves the rest to the next one doesn't end a refusal", async () => {
	const reconcile = vi.fn<Controller["reconcile"]>();
	reconcile.mockRejectedValueOnce(refused(503));
	reconcile.mockResolvedValueOnce({ requeueAfterMs: 0, isUnfinished: true });
	reconcile.mockResolvedValue(undefined);
	await refusedFor({ reconcile });
	expect(
		reconcile.mock.calls.map(([, { refusal }]) => refusal?.failures),
	).toEqual([undefined, 1, 1, undefined]);
});

test("a moment's error of the apiserver is tried again and reported to nobody", async () => {
	const reconcile = vi.fn<Controller["reconcile"]>();
	reconcile.mockRejectedValueOnce(refused(503));
	reconcile.mockResolvedValue(undefined);
	const reportRefusal = vi.fn<NonNullable<Controller["reportRefusal"]>>();
	await refusedFor({ reconcile, reportRefusal });
	expect(reportRefusal).not.toHaveBeenCalled();
	// The second knows of the refusal, and the third of none.
	expect(
		reconcile.mock.calls.map(([, { refusal }]) => refusal?.failures),
	).toEqual([undefined, 1, undefined]);
});

test("a person who corrects the object needn't wait for the backoff", async () => {
	vi.useFakeTimers();
	const reconcile = vi.fn<Controller["reconcile"]>();
	reconcile.mockRejectedValue(refused());
	const stop = new AbortController();
	const loop = new ControllerLoop(
		{ name: "test", reconcile, reportRefusal: async () => undefined },
		{ log },
	);
	const store = new KubeObjectStore<KubeObject>(() => undefined);
	loop.watch({
		synced: Promise.resolve(),
		onChange: (heard) => store.onChange(heard),
	});
	const running = loop.run(stop.signal);
	const change = async (generation: number, resourceVersion: string) => {
		const metadata = { ...key, uid: "1", generation, resourceVersion };
		store.put({ metadata });
		await vi.advanceTimersByTimeAsync(1);
	};
	await change(1, "1");
	await vi.advanceTimersByTimeAsync(120_000);
	const tries = reconcile.mock.calls.length;
	await change(1, "2");
	expect(reconcile).toHaveBeenCalledTimes(tries);
	await change(2, "3");
	expect(reconcile).toHaveBeenCalledTimes(tries + 1);
	stop.abort();
	await running;
});

test("for how long a key has failed is told until it succeeds, also where people read of the refusal", async () => {
	const failing: number[] = [];
	const reconcile = vi.fn<Controller["reconcile"]>();
	for (let i = 0; i < 3; i++) reconcile.mockRejectedValueOnce(refused());
	reconcile.mockResolvedValue(undefined);
	await refusedFor(
		{ reconcile, reportRefusal: async () => undefined },
		(loop) => failing.push(Math.round(loop.longestFailingMs / 1_000)),
	);
	// Refused three times, with up to 1, 2 and 4 seconds in between.
	const longest = Math.max(...failing);
	expect(longest).toBeGreaterThanOrEqual(2);
	expect(failing.slice(1, longest + 1)).toEqual(
		Array.from({ length: longest }, (_, index) => index + 1),
	);
	expect(failing.at(-1)).toBe(0);
});

test("a key whose report is refused, too, fails for as long as that goes on, and its metric says so", async () => {
	const reconcile = async () => {
		throw refused();
	};
	await refusedFor({ reconcile, reportRefusal: reconcile });
	const { values } = await metrics.longestFailingSeconds.get();
	expect(
		values.find(({ labels }) => labels.name === "test")?.value,
	).toBeGreaterThan(290);
});

test("what was deleted in the middle of a reconcile is no error", async () => {
	const before = await counts();
	const reconcile = vi.fn<Controller["reconcile"]>();
	reconcile.mockRejectedValueOnce(
		new KubeApiError(404, { reason: "NotFound" }, undefined, {
			method: "PATCH",
			path: "/a",
		}),
	);
	vi.spyOn(log, "child").mockReturnValue(log as never);
	const warn = vi.spyOn(log, "warn");
	await refusedFor({ reconcile });
	expect(reconcile).toHaveBeenCalledTimes(2);
	expect(warn).not.toHaveBeenCalled();
	const { values } = await metrics.longestFailingSeconds.get();
	expect(values).toContainEqual({ labels: { name: "test" }, value: 0 });
	expect((await counts()).error ?? 0).toBe(before.error ?? 0);
});

test("a requeue comes without a change", async () => {
	const reconcile = vi.fn<Controller["reconcile"]>();
	reconcile.mockResolvedValueOnce({ requeueAfterMs: 1 });
	const { loop, stop, running } = started(reconcile);
	loop.enqueue(key);
	await vi.waitUntil(() => reconcile.mock.calls.length === 2, wait);
	stop.abort();
	await running;
});

test("timers and requests get their turn between keys that need no I/O", async () => {
	const reconcile = vi.fn<Controller["reconcile"]>();
	reconcile.mockResolvedValue(undefined);
	const { loop, stop, running } = started(reconcile);
	for (let index = 0; index < 100; index++)
		loop.enqueue({ namespace: "n", name: String(index) });
	await new Promise(setImmediate);
	expect(reconcile.mock.calls.length).toBeGreaterThan(0);
	expect(reconcile.mock.calls.length).toBeLessThan(100);
	stop.abort();
	await running;
});

test("a group is looked up once for all that changes in one turn, and each member is reconciled", async () => {
	const reconcile = vi.fn<Controller["reconcile"]>();
	reconcile.mockResolvedValue(undefined);
	const { loop, stop, running } = started(reconcile);
	const store = new KubeObjectStore<KubeObject>(() => undefined);
	const membersOf = vi.fn((group: string) => [
		{ namespace: group, name: "member" },
	]);
	loop.watchGroups(
		{ synced: Promise.resolve(), onChange: (heard) => store.onChange(heard) },
		{
			groupsOf: ({ metadata }) => [metadata.namespace!],
			membersOf,
			matters: ({ metadata }) => metadata.name !== "quiet",
		},
	);
	const put = (namespace: string, name: string) =>
		store.put({ metadata: { namespace, name, uid: namespace + name } });
	for (let index = 0; index < 100; index++) put("a", String(index));
	put("b", "1");
	put("c", "quiet");
	await vi.waitUntil(() => reconcile.mock.calls.length === 2, wait);
	expect(membersOf.mock.calls).toEqual([["a"], ["b"]]);
	expect(reconcile.mock.calls.map(([key]) => key.namespace)).toEqual([
		"a",
		"b",
	]);
	put("a", "101");
	await vi.waitUntil(() => reconcile.mock.calls.length === 3, wait);
	stop.abort();
	await running;
});

test("stopping waits for the reconcile under way", async () => {
	const { promise, resolve } = Promise.withResolvers<undefined>();
	const reconcile = vi.fn(() => promise);
	const { loop, stop, running } = started(reconcile);
	loop.enqueue(key);
	await vi.waitUntil(() => reconcile.mock.calls.length === 1, wait);
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

test("reconciles are counted under controller-runtime's names", async () => {
	const reconcile = vi.fn<Controller["reconcile"]>();
	reconcile.mockRejectedValueOnce(new Error("1"));
	reconcile.mockResolvedValueOnce({ requeueAfterMs: 1 });
	const before = await counts();
	const { loop, stop, running } = started(reconcile);
	loop.enqueue(key);
	await vi.waitUntil(() => reconcile.mock.calls.length === 3, wait);
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
