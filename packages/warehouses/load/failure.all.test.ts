// In make test: packages/service/pause.test.ts
import { expect, test } from "vitest";
import { backoffMs } from "../../service/pause.ts";
import { retry, retryBackoff } from "./failure.ts";

/** Work that fails with each of these errors in turn, then returns how often it ran. */
function failing(...errors: Error[]) {
	let runs = 0;
	return async () => {
		const error = errors[runs++];
		if (error) throw error;
		return runs;
	};
}

function options(attempts: number, signal = new AbortController().signal) {
	const retried: [unknown, number][] = [];
	return {
		attempts,
		signal,
		isTransient: (error: unknown) => (error as Error).message !== "permanent",
		onRetry: (error: unknown, attempt: number) =>
			retried.push([error, attempt]),
		retried,
	};
}

const [first, second] = [new Error("first"), new Error("second")];

test("transient errors are retried, and each is reported with its attempt", async () => {
	const given = options(3);
	expect(await retry(given, failing(first, second))).toBe(3);
	expect(given.retried).toEqual([
		[first, 1],
		[second, 2],
	]);
});

test("the last attempt's error is thrown", async () => {
	const given = options(2);
	await expect(retry(given, failing(first, second))).rejects.toBe(second);
	expect(given.retried).toEqual([[first, 1]]);
});

test("a permanent error is thrown at once", async () => {
	const permanent = new Error("permanent");
	const given = options(3);
	await expect(retry(given, failing(permanent))).rejects.toBe(permanent);
	expect(given.retried).toEqual([]);
});

test("after the signal nothing is retried, and its reason is thrown", async () => {
	const stop = new AbortController();
	const reason = new Error("stop");
	const given = options(3, stop.signal);
	const work = async () => {
		stop.abort(reason);
		throw first;
	};
	await expect(retry(given, work)).rejects.toBe(reason);
	expect(given.retried).toEqual([]);
});

test("the pauses of eight attempts outlast a restart", () => {
	const pauses = [1, 2, 3, 4, 5, 6, 7].map((failures) =>
		backoffMs(failures, retryBackoff, () => 0),
	);
	expect(pauses).toEqual([125, 250, 500, 1000, 2000, 4000, 4000]);
});
