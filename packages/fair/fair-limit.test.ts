import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import {
	FairLimit,
	type FairLimits,
	mapConcurrently,
	NoTurn,
	oneAtATime,
} from "./fair-limit.ts";

/** Work that goes on until it is ended. Its name's first letter is its owner. */
function works(limits: FairLimits) {
	const limit = new FairLimit(limits);
	const begun: string[] = [];
	const ends = new Map<string, (failed?: Error) => void>();
	const start = (name: string, unwanted?: AbortSignal) => {
		const result = limit.run(
			name[0]!,
			() => {
				begun.push(name);
				return new Promise<string>((resolve, reject) =>
					ends.set(name, (failed) => (failed ? reject(failed) : resolve(name))),
				);
			},
			unwanted,
		);
		result.catch(() => undefined);
		return result;
	};
	const end = async (name: string, failed?: Error) => {
		ends.get(name)!(failed);
		await nextTurn();
	};
	return { limit, begun, start, end };
}

test("so much work runs at once, and an owner doesn't wait for another's queue", async () => {
	const { limit, begun, start, end } = works({ atOnce: 2 });
	for (const name of ["a1", "a2", "a3", "a4"]) void start(name);
	const other = start("b1");
	expect(begun).toEqual(["a1", "a2"]);
	expect([limit.waitingOf("a"), limit.waitingOf("b")]).toEqual([2, 1]);
	await end("a1");
	await end("a2");
	expect(begun.slice(2)).toEqual(["a3", "b1"]);
	await end("b1");
	expect(await other).toBe("b1");
});

test("an owner has so much at once, in its order, and never waits for another owner", async () => {
	const { begun, start, end } = works({ atOncePerOwner: 2 });
	for (const name of ["a1", "a2", "a3", "a4", "b1"]) void start(name);
	expect(begun).toEqual(["a1", "a2", "b1"]);
	await end("a2");
	expect(begun.slice(3)).toEqual(["a3"]);
	await end("a1", new Error("A failure gives its place back as well."));
	expect(begun.slice(4)).toEqual(["a4"]);
	for (const name of ["a3", "a4"]) await end(name);
	for (const name of ["a5", "a6", "a7"]) void start(name);
	expect(begun.slice(5)).toEqual(["a5", "a6"]);
});

test("of what all may run at once, no owner has more than its share", async () => {
	const { begun, start, end } = works({ atOnce: 3, atOncePerOwner: 2 });
	for (const name of ["a1", "a2", "a3", "b1", "b2", "c1"]) void start(name);
	expect(begun).toEqual(["a1", "a2", "b1"]);
	await end("b1");
	await end("a1");
	await end("a2");
	expect(begun.slice(3)).toEqual(["b2", "a3", "c1"]);
});

test("work that fails rejects for its caller, and frees its place", async () => {
	const { start, end } = works({ atOnce: 1 });
	const failed = start("a1");
	const next = start("a2");
	await end("a1", new Error("broken"));
	await expect(failed).rejects.toThrow("broken");
	await end("a2");
	expect(await next).toBe("a2");
});

test("beyond what may wait, the owner with most of it loses its newest", async () => {
	const { begun, start, end } = works({ atOnce: 1, maxWaiting: 2 });
	for (const name of ["a1", "a2"]) void start(name);
	const newest = start("a3");
	await expect(start("a4")).rejects.toThrow(NoTurn);
	void start("b1");
	await expect(newest).rejects.toThrow(NoTurn);
	await expect(start("b2")).rejects.toThrow(NoTurn);
	for (const name of ["a1", "a2", "b1"]) await end(name);
	expect(begun).toEqual(["a1", "a2", "b1"]);
});

test("work that nobody wants any more, or that waits too long, doesn't begin", async () => {
	const { limit, begun, start, end } = works({ atOnce: 1, maxWaitMs: 1 });
	void start("a1");
	const unwanted = new AbortController();
	const withdrawn = start("b1", unwanted.signal);
	const late = start("c1");
	unwanted.abort();
	await expect(withdrawn).rejects.toThrow(NoTurn);
	await expect(start("b2", unwanted.signal)).rejects.toThrow(NoTurn);
	await expect(late).rejects.toThrow(NoTurn);
	expect(["b", "c"].map((owner) => limit.waitingOf(owner))).toEqual([0, 0]);
	await end("a1");
	expect(begun).toEqual(["a1"]);
});

test("work that is done one at a time goes on behind a failure", async () => {
	const inTurn = oneAtATime();
	const seen: string[] = [];
	const held = Promise.withResolvers<void>();
	const first = inTurn(async () => {
		seen.push("first");
		await held.promise;
		throw new Error("failed");
	});
	const second = inTurn(async () => seen.push("second"));
	await nextTurn();
	expect(seen).toEqual(["first"]);
	held.resolve();
	await expect(first).rejects.toThrow("failed");
	await second;
	expect(seen).toEqual(["first", "second"]);
});

test("a list is mapped in its order, with so many calls at once", async () => {
	let [running, most] = [0, 0];
	const doubled = await mapConcurrently([1, 2, 3, 4, 5], 2, async (number) => {
		most = Math.max(most, ++running);
		for (let turn = number; turn < 6; turn++) await nextTurn();
		running--;
		return 2 * number;
	});
	expect(doubled).toEqual([2, 4, 6, 8, 10]);
	expect(most).toBe(2);
	expect(await mapConcurrently([], 2, async () => 1)).toEqual([]);
});

test("after an error no call begins, and those that run have ended before it is thrown", async () => {
	const ended: number[] = [];
	const mapped = mapConcurrently([1, 2, 3, 4], 2, async (number) => {
		if (number === 1) throw new Error("first");
		await nextTurn();
		ended.push(number);
		throw new Error("later");
	});
	await expect(mapped).rejects.toThrow("first");
	expect(ended).toEqual([2]);
});
