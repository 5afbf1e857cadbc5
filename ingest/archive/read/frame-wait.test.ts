import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FlushRequests } from "./flush-requests.ts";
import {
	type FrameQueue,
	PositionLost,
	type UncutFrames,
} from "./frame-queue.ts";
import { cutDueInMs, untilCutIsDue, untilRead } from "./frame-wait.ts";
import { WakeSignal } from "./wake-signal.ts";

const limits = { maxBytes: 100, mostBytes: 800, maxAgeMs: 1000 };
const uncut: UncutFrames = {
	frames: 1,
	bytes: 10,
	sources: 0,
	sinceMs: 0,
	lastSequence: 7,
};

test.each<[string, Partial<UncutFrames>, number, number, number, number?]>([
	[
		"nothing to cut waits",
		{ frames: 0, bytes: 0, sinceMs: NaN },
		0,
		0,
		Infinity,
	],
	[
		"nothing to cut waits, even with a flush request",
		{ frames: 0, bytes: 0 },
		9,
		0,
		Infinity,
	],
	["young and small waits for its age", {}, 0, 400, 600],
	["old is due", {}, 0, 1000, 0],
	["overdue is due", {}, 0, 5000, 0],
	["large is due", { bytes: 100 }, 0, 0, 0],
	[
		"of many sources is not large yet",
		{ bytes: 100, sources: 1_024 },
		0,
		0,
		1000,
	],
	["of many sources is large", { bytes: 800, sources: 1_024 }, 0, 0, 0],
	["a flush is due once it is read", {}, 7, 0, 0],
	["also if it is the first frame", { lastSequence: 1 }, 1, 0, 0],
	["a flush isn't due before it is read", {}, 8, 400, 600],
	["a flush soon after another one waits for both", {}, 7, 0, 250, 250],
	["but not beyond the frames' age", {}, 7, 400, 600, 9_000],
	["and not for a size that is due", { bytes: 100 }, 7, 0, 0, 250],
])("%s", (_, more, through, now, due, notBeforeMs = 0) => {
	const flushes = { through, notBeforeMs };
	expect(cutDueInMs({ ...uncut, ...more }, limits, flushes, now)).toBe(due);
});

beforeEach(() => {
	vi.useFakeTimers();
});
afterEach(() => {
	vi.useRealTimers();
});

/** A wait on a queue whose frames and failure the test sets. */
function newWait() {
	const queue = {
		uncut: {
			frames: 0,
			bytes: 0,
			sources: 0,
			sinceMs: Number.NaN,
			lastSequence: 0,
		},
		hasEnd: false,
		failure: undefined as Error | undefined,
		throwIfFailed() {
			if (this.failure) throw this.failure;
		},
		want: vi.fn(),
	};
	const wakeSignal = new WakeSignal();
	const stop = new AbortController();
	const flushes = new FlushRequests(() => wakeSignal.wake());
	flushes.done("s", 0);
	const wait = {
		queue: queue as unknown as FrameQueue,
		wakeSignal,
		signal: stop.signal,
	};
	const read = (lastSequence: number, more: Partial<UncutFrames> = {}) => {
		const sinceMs = performance.now();
		const own = { frames: 1, bytes: 10, sources: 1, sinceMs, lastSequence };
		queue.uncut = { ...own, ...more };
		wakeSignal.wake();
	};
	return { queue, wakeSignal, stop, flushes, wait, read };
}

/** What became of it after some time: "done", its error, or "pending". */
async function after(timeMs: number, wait: Promise<unknown>): Promise<unknown> {
	let state: unknown = "pending";
	wait.then(
		() => {
			state = "done";
		},
		(error: unknown) => {
			state = error;
		},
	);
	await vi.advanceTimersByTimeAsync(timeMs);
	return state;
}

test("frames become a cut at their age limit", async () => {
	const { wait, flushes, read } = newWait();
	const due = untilCutIsDue(wait, flushes, limits);
	expect(await after(5_000, due)).toBe("pending");
	read(1);
	expect(await after(999, due)).toBe("pending");
	expect(await after(1, due)).toBe("done");
});

test("a flush makes a cut of what is read through its sequence", async () => {
	const { wait, flushes, read } = newWait();
	const due = untilCutIsDue(wait, flushes, { ...limits, maxAgeMs: 60_000 });
	read(6);
	void flushes.wait("s", 7, wait.signal);
	expect(await after(100, due)).toBe("pending");
	read(7);
	expect(await after(0, due)).toBe("done");
});

test("frames before an alarm or a gap become a cut at once; without any, it is thrown", async () => {
	const { wait, flushes, read, queue, wakeSignal } = newWait();
	queue.hasEnd = true;
	queue.failure = new Error("alarm");
	read(1);
	expect(await after(0, untilCutIsDue(wait, flushes, limits))).toBe("done");
	queue.uncut.frames = 0;
	wakeSignal.wake();
	expect(await after(0, untilCutIsDue(wait, flushes, limits))).toBe(
		queue.failure,
	);
});

test("a failure of reading and the signal end the wait, also with frames in memory", async () => {
	for (const end of ["failure", "signal"] as const) {
		const { wait, flushes, read, queue, stop, wakeSignal } = newWait();
		const due = untilCutIsDue(wait, flushes, limits);
		read(1);
		expect(await after(0, due)).toBe("pending");
		const error = new Error(end);
		if (end === "failure") queue.failure = error;
		else stop.abort(error);
		wakeSignal.wake();
		expect(await after(0, due)).toBe(error);
		expect(await after(0, untilRead(wait, 9))).toBe(error);
	}
});

test("requested frames that don't arrive within two seconds are lost; each frame that arrives gives two more", async () => {
	const { wait, flushes, read } = newWait();
	void flushes.wait("s", 9, wait.signal);
	const due = untilCutIsDue(wait, flushes, { ...limits, maxAgeMs: 60_000 });
	expect(await after(1_999, due)).toBe("pending");
	read(1);
	expect(await after(1_999, due)).toBe("pending");
	// First, the frame that was read is cut.
	expect(await after(1, due)).toBe("done");
	read(1, { frames: 0, bytes: 0, sinceMs: Number.NaN });
	const next = untilCutIsDue(wait, flushes, limits);
	expect(await after(1_999, next)).toBe("pending");
	const state = await after(1, next);
	expect(state).toBeInstanceOf(PositionLost);
	expect(String(state)).toContain("sequence 2 doesn't arrive, but 9 is needed");
});

test("a cut waits for all of its frames, even beyond the queue's limit, and for two seconds each", async () => {
	const { wait, queue, read } = newWait();
	read(1);
	expect(await after(0, untilRead(wait, 1))).toBe("done");
	const all = untilRead(wait, 3);
	expect(queue.want).toHaveBeenLastCalledWith(3);
	expect(await after(1_999, all)).toBe("pending");
	read(2);
	expect(await after(1_999, all)).toBe("pending");
	read(3);
	expect(await after(0, all)).toBe("done");
	expect(await after(2_000, untilRead(wait, 4))).toBeInstanceOf(PositionLost);
});

test("the two seconds of a later request don't count from an earlier one", async () => {
	const { wait, flushes, wakeSignal } = newWait();
	const caller = new AbortController();
	flushes.wait("s", 9, caller.signal).catch(() => undefined);
	const due = untilCutIsDue(wait, flushes, limits);
	expect(await after(1_500, due)).toBe("pending");
	caller.abort();
	await vi.advanceTimersByTimeAsync(0);
	wakeSignal.wake();
	expect(await after(5_000, due)).toBe("pending");
	void flushes.wait("s", 9, wait.signal);
	expect(await after(1_999, due)).toBe("pending");
	expect(await after(1, due)).toBeInstanceOf(PositionLost);
});
