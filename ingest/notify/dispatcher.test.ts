import { expect, test } from "vitest";
import { FairDispatcher } from "./dispatcher.ts";

/** A dispatcher whose work lasts until the test ends it. */
function dispatcherWith(limits: { overall: number; perAccount: number }) {
	const started: string[] = [];
	const ends = new Map<string, () => void>();
	const dispatcher = new FairDispatcher<string>(limits, (item) => {
		started.push(item);
		const { promise, resolve } = Promise.withResolvers<void>();
		ends.set(item, resolve);
		return promise;
	});
	const end = async (item: string) => {
		const { changed } = dispatcher;
		ends.get(item)!();
		await changed;
	};
	return { dispatcher, started, end };
}

test("an account whose receivers hang has its share of the places, and the others go on", async () => {
	const { dispatcher, started, end } = dispatcherWith({
		overall: 3,
		perAccount: 2,
	});
	for (const item of ["a1", "a2", "a3", "a4"]) dispatcher.add("a", item);
	expect(started).toEqual(["a1", "a2"]);
	dispatcher.add("b", "b1");
	dispatcher.add("b", "b2");
	expect(started).toEqual(["a1", "a2", "b1"]);
	await end("b1");
	expect(started).toEqual(["a1", "a2", "b1", "b2"]);
	expect(dispatcher.inHand).toEqual(new Set(["a1", "a2", "a3", "a4", "b2"]));
});

test("what waits goes on in its order", async () => {
	const { dispatcher, started, end } = dispatcherWith({
		overall: 9,
		perAccount: 1,
	});
	for (const item of ["a1", "a2", "a3"]) dispatcher.add("a", item);
	await end("a1");
	dispatcher.add("a", "a4");
	await end("a2");
	await end("a3");
	expect(started).toEqual(["a1", "a2", "a3", "a4"]);
});

test("a stop starts nothing more, and waits for what is at work", async () => {
	const { dispatcher, started, end } = dispatcherWith({
		overall: 1,
		perAccount: 1,
	});
	for (const item of ["a1", "a2"]) dispatcher.add("a", item);
	dispatcher.add("b", "b1");
	const stopped = dispatcher.stop();
	await end("a1");
	await stopped;
	expect(started).toEqual(["a1"]);
});
