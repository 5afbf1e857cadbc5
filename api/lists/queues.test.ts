import { expect, test } from "vitest";
import { Queues } from "./queues.ts";

test("tasks of an owner run one after another, also behind one that failed; owners don't wait for each other", async () => {
	const queues = new Queues();
	const seen: string[] = [];
	const held = Promise.withResolvers<void>();
	const first = queues.run("shop", async () => {
		seen.push("shop 1");
		await held.promise;
		throw new Error("failed");
	});
	const second = queues.run("shop", async () => seen.push("shop 2"));
	await queues.run("bank", async () => seen.push("bank"));
	expect(seen).toEqual(["shop 1", "bank"]);
	held.resolve();
	await expect(first).rejects.toThrow("failed");
	await second;
	await queues.run("shop", async () => seen.push("shop 3"));
	expect(seen).toEqual(["shop 1", "bank", "shop 2", "shop 3"]);
});
