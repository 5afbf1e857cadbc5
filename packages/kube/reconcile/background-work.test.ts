import { expect, test, vi } from "vitest";
import { BackgroundWork } from "./background-work.ts";

const key = { namespace: "n", name: "a" };
const turn = () => new Promise(setImmediate);

test("the key comes back when the outcome is there, which stays until it is dropped", async () => {
	const onChange = vi.fn();
	const works = new BackgroundWork<string>(onChange);
	const { promise, resolve } = Promise.withResolvers<string>();
	const work = vi.fn(() => promise);
	works.begin(key, "x", work);
	works.begin(key, "x", work);
	expect(works.outcome(key)).toBeUndefined();
	expect(work).toHaveBeenCalledTimes(1);
	resolve("outcome");
	await turn();
	expect(onChange.mock.calls).toEqual([[key]]);
	expect(works.outcome(key)).toEqual({ about: "x", outcome: "outcome" });
	expect(works.outcome(key)).toEqual({ about: "x", outcome: "outcome" });
	works.drop(key);
	expect(works.outcome(key)).toBeUndefined();
	works.begin(key, "x", work);
	expect(work).toHaveBeenCalledTimes(2);
});

test("the key comes back when there is progress, which can be read until the outcome is there", async () => {
	const onChange = vi.fn();
	const works = new BackgroundWork<string>(onChange);
	const { promise, resolve } = Promise.withResolvers<string>();
	works.begin(key, "x", (_, say) => {
		say("half of it");
		return promise;
	});
	expect(onChange.mock.calls).toEqual([[key]]);
	expect(works.progressOf(key)).toBe("half of it");
	resolve("outcome");
	await turn();
	expect(works.progressOf(key)).toBeUndefined();
});

test("work whose outcome came after the look isn't begun anew, and work whose outcome was seen is", async () => {
	const works = new BackgroundWork<string>(() => undefined);
	const work = vi.fn(async () => "outcome");
	expect(works.outcome(key)).toBeUndefined();
	works.begin(key, "x", work);
	expect(works.outcome(key)).toBeUndefined();
	await turn();
	// A reconcile that looked before decides on what it saw.
	works.begin(key, "x", work);
	expect(work).toHaveBeenCalledTimes(1);
	expect(works.outcome(key)).toEqual({ about: "x", outcome: "outcome" });
	works.begin(key, "x", work);
	expect(work).toHaveBeenCalledTimes(2);
	await turn();
});

test("what the work throws is thrown to the reconcile, once", async () => {
	const works = new BackgroundWork<string>(() => undefined);
	const work = () => Promise.reject(new Error("no"));
	works.begin(key, "x", work);
	await turn();
	expect(() => works.outcome(key)).toThrow("no");
	expect(works.outcome(key)).toBeUndefined();
});

test("work about something else, and work that nobody needs any more, is aborted, and its outcome is for nobody", async () => {
	const onChange = vi.fn();
	const works = new BackgroundWork<string>(onChange);
	const signals: AbortSignal[] = [];
	const work = (signal: AbortSignal) => {
		signals.push(signal);
		return new Promise<string>((resolve) =>
			signal.addEventListener("abort", () => resolve("late")),
		);
	};
	works.begin(key, "x", work);
	works.begin(key, "y", work);
	expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
	works.drop(key);
	expect(signals[1]!.aborted).toBe(true);
	await turn();
	expect(onChange).not.toHaveBeenCalled();
	expect(works.outcome(key)).toBeUndefined();
});
