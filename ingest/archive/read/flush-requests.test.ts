import { expect, test, vi } from "vitest";
import { FlushRequests } from "./flush-requests.ts";

const never = new AbortController().signal;

/** Whether a wait has settled, once pending promises have run. */
async function stateOf(wait: Promise<void>): Promise<string> {
	const pending = new Promise((resolve) => setImmediate(resolve, "pending"));
	const settled = wait.then(
		() => "done",
		(error: Error) => error.message,
	);
	return (await Promise.race([settled, pending])) as string;
}

test("a request settles when everything through its sequence is archived, and no sooner", async () => {
	const onRequest = vi.fn();
	const flushes = new FlushRequests(onRequest);
	flushes.done("s", 4);
	const wait = flushes.wait("s", 7, never);
	expect(onRequest).toHaveBeenCalledTimes(1);
	expect(flushes.through).toBe(7);
	flushes.done("s", 6);
	expect(await stateOf(wait)).toBe("pending");
	flushes.done("t", 9);
	expect(await stateOf(wait)).toBe("pending");
	flushes.done("s", 7);
	expect(await stateOf(wait)).toBe("done");
	expect(flushes.through).toBe(0);
});

test("an archived sequence needs no wait; the same sequence of another stream does", async () => {
	const onRequest = vi.fn();
	const flushes = new FlushRequests(onRequest);
	flushes.done("s", 7);
	expect(await stateOf(flushes.wait("s", 7, never))).toBe("done");
	expect(onRequest).not.toHaveBeenCalled();
	expect(await stateOf(flushes.wait("s", 8, never))).toBe("pending");
	expect(await stateOf(flushes.wait("t", 7, never))).toBe("pending");
});

test("the highest sequence that is requested of the current stream counts", () => {
	const flushes = new FlushRequests(() => undefined);
	expect(flushes.through).toBe(0);
	for (const [stream, sequence] of [
		["s", 3],
		["s", 9],
		["s", 5],
		["t", 20],
	] as const)
		void flushes.wait(stream, sequence, never);
	expect(flushes.through).toBe(0);
	flushes.done("s", 0);
	expect(flushes.through).toBe(9);
});

test("an aborted request no longer counts", async () => {
	const flushes = new FlushRequests(() => undefined);
	flushes.done("s", 0);
	const gone = AbortSignal.abort(new Error("too late"));
	expect(await stateOf(flushes.wait("s", 9, gone))).toBe("too late");
	const caller = new AbortController();
	const wait = flushes.wait("s", 9, caller.signal);
	caller.abort(new Error("given up"));
	expect(await stateOf(wait)).toBe("given up");
	expect(flushes.through).toBe(0);
});

test("an alarm refuses all requests until archiving goes on", async () => {
	const flushes = new FlushRequests(() => undefined);
	flushes.done("s", 7);
	const before = flushes.wait("s", 9, never);
	flushes.stop(new Error("alarm"));
	expect(await stateOf(before)).toBe("alarm");
	expect(await stateOf(flushes.wait("s", 9, never))).toBe("alarm");
	expect(await stateOf(flushes.wait("s", 7, never))).toBe("alarm");
});

test("a cut for requests holds up the next one for its objects, and for ten seconds at most", () => {
	const flushes = new FlushRequests(() => undefined);
	flushes.done("s", 0);
	flushes.decided(5, 1_000, 1_000);
	expect(flushes.notBeforeMs).toBe(0);
	void flushes.wait("s", 9, never);
	flushes.decided(8, 1_000, 1_000);
	expect(flushes.notBeforeMs).toBe(0);
	flushes.decided(9, 2, 1_000);
	expect(flushes.notBeforeMs).toBe(1_200);
	flushes.decided(9, 1_000, 1_000);
	expect(flushes.notBeforeMs).toBe(11_000);
});
