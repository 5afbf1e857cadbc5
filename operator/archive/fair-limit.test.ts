import { expect, test } from "vitest";
import { FairLimit } from "./fair-limit.ts";

/** Work that goes on until it is ended, in a limit of two. */
function works() {
	const limit = new FairLimit(2);
	const begun: string[] = [];
	const ends = new Map<string, (failed?: Error) => void>();
	const start = (name: string) =>
		limit
			.run(name[0]!, () => {
				begun.push(name);
				return new Promise<void>((resolve, reject) =>
					ends.set(name, (failed) => (failed ? reject(failed) : resolve())),
				);
			})
			.catch(() => undefined);
	const end = async (name: string, failed?: Error) => {
		ends.get(name)!(failed);
		await new Promise(setImmediate);
	};
	return { begun, start, end };
}

test("a group has two at once, in their order, and never waits for another group", async () => {
	const { begun, start, end } = works();
	for (const name of ["a1", "a2", "a3", "a4", "b1"]) void start(name);
	expect(begun).toEqual(["a1", "a2", "b1"]);
	await end("a2");
	expect(begun.slice(3)).toEqual(["a3"]);
	await end("a1", new Error("A failure gives its place back as well."));
	expect(begun.slice(4)).toEqual(["a4"]);
});

test("a group that was idle has all its places again", async () => {
	const { begun, start, end } = works();
	for (const name of ["a1", "a2"]) void start(name);
	await end("a1");
	await end("a2");
	for (const name of ["a3", "a4", "a5"]) void start(name);
	expect(begun.slice(2)).toEqual(["a3", "a4"]);
});
