// In make test: packages/kube/reconcile/controller.test.ts
import { pino } from "pino";
import { afterEach, expect, test, vi } from "vitest";
import type { KubeClient } from "../client/client.ts";
import type { WriteOptions } from "../client/client-options.ts";
import { type KubeEvent, kinds } from "../kinds.ts";
import { KubeEventRecorder } from "./kube-events.ts";

const logged: Record<string, unknown>[] = [];
const log = pino(
	{ level: "warn" },
	{ write: (line) => void logged.push(JSON.parse(line)) },
);

afterEach(() => {
	vi.useRealTimers();
	logged.length = 0;
});

/** An apiserver that answers each write when told to. */
function slowApiserver(isBusy?: () => boolean) {
	const written: KubeEvent[] = [];
	const patched: { name: string; body: unknown }[] = [];
	const waiting: ((error?: Error) => void)[] = [];
	/** What was answered before anybody gave up on it. */
	const ended: unknown[] = [];
	const answer = (signal?: AbortSignal) =>
		new Promise<void>((resolve, reject) => {
			waiting.push((error) => (error ? reject(error) : resolve()));
			signal?.addEventListener("abort", () => reject(signal.reason));
		});
	const client = {
		create: async (_: unknown, event: KubeEvent, options?: WriteOptions) => {
			written.push(event);
			await answer(options?.signal);
			ended.push(event);
			return event;
		},
		patch: async (
			_: unknown,
			name: string,
			__: string,
			body: unknown,
			___: string,
			options?: WriteOptions,
		) => {
			patched.push({ name, body });
			await answer(options?.signal);
			ended.push(body);
		},
	} as unknown as KubeClient;
	/** Answers one write, by its turn. */
	const answerOne = async (error?: Error) => {
		waiting.shift()?.(error);
		for (let turn = 0; turn < 10; turn++) await Promise.resolve();
	};
	const recorder = new KubeEventRecorder(
		client,
		"example.com/test",
		log,
		isBusy,
	);
	const record = (namespace: string, name: string, note = "it is odd") =>
		recorder.record(
			kinds.configMap,
			{ metadata: { namespace, name, uid: name } },
			{ type: "Normal", reason: "Odd", action: "Look", note },
		);
	return { recorder, written, patched, waiting, ended, answerOne, record };
}

test("of many Events two are written at a time, and another namespace's comes between", async () => {
	const { written, waiting, answerOne, record } = slowApiserver();
	for (let i = 0; i < 100; i++) record("crowd", `crowd-${i}`);
	record("shop", "order");
	await answerOne();
	const names = () => written.map(({ regarding }) => regarding?.name);
	expect(names()).toEqual(["crowd-0", "crowd-1"]);
	expect(waiting).toHaveLength(2);
	await answerOne();
	await answerOne();
	expect(names()).toContain("order");
	for (let i = 0; i < 101; i++) await answerOne();
	expect(new Set(names()).size).toBe(101);
	expect(names()).toHaveLength(101);
});

test("a note writes nothing to the terminal on which people read it", async () => {
	const { written, record } = slowApiserver();
	record("shop", "order", "type \u009b2J\u202ea");
	await vi.waitFor(() => expect(written).toHaveLength(1));
	expect(written[0]!.note).toBe("type \\u009b2J\\u202ea");
});

test("after a burst, thousands of Events are written at a steady rate", async () => {
	vi.useFakeTimers();
	const { written, answerOne, record } = slowApiserver();
	for (let i = 0; i < 1_000; i++) record("crowd", `crowd-${i}`);
	const answerAll = async () => {
		for (let i = 0; i < 1_000; i++) await answerOne();
	};
	await answerAll();
	expect(written).toHaveLength(200);
	for (let tick = 0; tick < 100; tick++) {
		await vi.advanceTimersByTimeAsync(20);
		await answerAll();
	}
	expect(written).toHaveLength(300);
});

test("while other work waits, Events are written at a fifth of that rate, and the rest afterwards", async () => {
	vi.useFakeTimers();
	let isBusy = true;
	const { written, answerOne, record } = slowApiserver(() => isBusy);
	for (let i = 0; i < 200; i++) record("crowd", `crowd-${i}`);
	const pass = async (ticks: number) => {
		for (let tick = 0; tick < ticks; tick++) {
			await vi.advanceTimersByTimeAsync(20);
			for (let i = 0; i < 200; i++) await answerOne();
		}
	};
	await pass(100);
	expect(written).toHaveLength(40);
	isBusy = false;
	await pass(100);
	expect(written).toHaveLength(200);
});

test("work that waits for longer than a minute holds up no Events", async () => {
	vi.useFakeTimers();
	const { written, answerOne, record } = slowApiserver(() => true);
	for (let i = 0; i < 2_000; i++) record("crowd", `crowd-${i}`);
	for (let tick = 0; tick < 3_800; tick++) {
		await vi.advanceTimersByTimeAsync(20);
		await answerOne();
		await answerOne();
	}
	// 600 in the first minute, 50 a second after it.
	expect(written.length).toBeGreaterThan(1_000);
});

test("an Event that repeats before it is written is written once, with its count", async () => {
	const { written, answerOne, record } = slowApiserver();
	record("shop", "first");
	record("shop", "second");
	for (let i = 0; i < 3; i++) record("shop", "repeated");
	for (let i = 0; i < 4; i++) await answerOne();
	expect(
		written.map(({ regarding, series }) => [regarding?.name, series?.count]),
	).toEqual([
		["first", undefined],
		["second", undefined],
		["repeated", 3],
	]);
});

test("a repeat raises the count of the Event that is there, and after a failed write a new Event is tried", async () => {
	const { written, patched, answerOne, record } = slowApiserver();
	record("shop", "told");
	await answerOne();
	await answerOne();
	record("shop", "told");
	await answerOne();
	await answerOne();
	expect(patched).toMatchObject([
		{ name: written[0]!.metadata.name, body: { series: { count: 2 } } },
	]);
	record("shop", "refused");
	await answerOne();
	await answerOne(new Error("refused"));
	record("shop", "refused");
	await answerOne();
	expect(
		written.slice(1).map(({ regarding, series }) => [regarding?.name, series]),
	).toEqual([
		["refused", undefined],
		["refused", undefined],
	]);
});

test("a repeat after six minutes of silence is a new Event, whatever was recorded meanwhile", async () => {
	vi.useFakeTimers({ toFake: ["Date", "performance"] });
	const { written, answerOne, record } = slowApiserver();
	const minute = 60_000;
	record("shop", "lasting");
	record("shop", "ended");
	await answerOne();
	await answerOne();
	for (let i = 0; i < 4; i++) {
		vi.advanceTimersByTime(2 * minute);
		record("shop", "lasting");
		await answerOne();
		await answerOne();
	}
	record("shop", "ended");
	await answerOne();
	expect(written.map(({ regarding }) => regarding?.name)).toEqual([
		"lasting",
		"ended",
		"ended",
	]);
});

test("an Event that waits for longer than six minutes is written", async () => {
	vi.useFakeTimers({ toFake: ["Date", "performance"] });
	const { written, answerOne, record } = slowApiserver();
	for (let i = 0; i < 4; i++) record("shop", `order-${i}`);
	vi.advanceTimersByTime(7 * 60_000);
	record("shop", "order-4");
	for (let i = 0; i < 6; i++) await answerOne();
	expect(written.map(({ regarding }) => regarding?.name)).toEqual(
		[0, 1, 2, 3, 4].map((i) => `order-${i}`),
	);
});

test("a repeat during a write that fails is tried", async () => {
	const { written, answerOne, record } = slowApiserver();
	record("shop", "refused");
	await answerOne();
	record("shop", "refused");
	await answerOne(new Error("refused"));
	await answerOne();
	expect(written.map(({ series }) => series?.count)).toEqual([undefined, 2]);
});

test("of too many Events that wait, the new ones of the namespace with most are dropped, and a log says how many, once a minute", async () => {
	vi.useFakeTimers();
	const { recorder, written, answerOne, record } = slowApiserver();
	// Two are in work, and 10,000 wait.
	for (let i = 0; i < 10_102; i++) record("crowd", `crowd-${i}`);
	record("shop", "order");
	expect(logged).toMatchObject([{ dropped: 1 }]);
	vi.advanceTimersByTime(60_000);
	expect(logged.slice(1)).toMatchObject([{ dropped: 99 }]);
	vi.advanceTimersByTime(60_000);
	expect(logged).toHaveLength(2);
	for (let i = 0; i < 10_010; i++) {
		await vi.advanceTimersByTimeAsync(20);
		await answerOne();
	}
	expect(written).toHaveLength(10_003);
	expect(written.map(({ regarding }) => regarding?.name)).toContain("order");
	await recorder.finish(0);
	expect(logged).toHaveLength(2);
});

test("the clock that jumps back an hour holds up neither counts nor the end of a series", async () => {
	vi.useFakeTimers({ toFake: ["Date", "performance"] });
	const { written, patched, answerOne, record } = slowApiserver();
	const recordAndWrite = async () => {
		record("shop", "told");
		await answerOne();
		await answerOne();
	};
	await recordAndWrite();
	await recordAndWrite();
	vi.setSystemTime(Date.now() - 3_600_000);
	vi.advanceTimersByTime(11_000);
	await recordAndWrite();
	expect(patched).toMatchObject([
		{ body: { series: { count: 2 } } },
		{ body: { series: { count: 3 } } },
	]);
	vi.setSystemTime(Date.now() - 3_600_000);
	vi.advanceTimersByTime(7 * 60_000);
	await recordAndWrite();
	expect(written).toHaveLength(2);
});

test("before a stop the Events that wait are written", async () => {
	const { recorder, written, answerOne, record } = slowApiserver();
	for (let i = 0; i < 5; i++) record("shop", `order-${i}`);
	let isFinished = false;
	const finished = recorder.finish(60_000).then(() => {
		isFinished = true;
	});
	// The first has none to answer yet.
	for (let i = 0; i < 5; i++) await answerOne();
	expect(isFinished).toBe(false);
	await answerOne();
	await finished;
	expect(written).toHaveLength(5);
});

test("a stop waits for no more Events than it has time for, and gives up the open requests", async () => {
	vi.useFakeTimers();
	const { recorder, written, patched, ended, answerOne, record } =
		slowApiserver();
	record("shop", "told");
	await answerOne();
	await answerOne();
	record("shop", "told");
	for (let i = 0; i < 4; i++) record("shop", `order-${i}`);
	ended.length = 0;
	const finished = recorder.finish(1_000);
	await vi.advanceTimersByTimeAsync(1_000);
	// Nobody answers the two that are open.
	await finished;
	expect(logged).toMatchObject([{ dropped: 3, unanswered: 2 }]);
	await answerOne();
	await answerOne();
	expect([written.length, patched.length]).toEqual([2, 1]);
	expect(ended).toEqual([]);
	expect(logged).toHaveLength(1);
});
