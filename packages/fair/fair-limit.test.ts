import { expect, test } from "vitest";
import { WorkerSlots } from "./fair-limit.ts";

test("as much work runs at once as there are slots, and an account doesn't wait for another's queue", async () => {
	const slots = new WorkerSlots(2);
	const started: string[] = [];
	const finish: (() => void)[] = [];
	const run = (account: string) =>
		slots.run(
			account,
			() =>
				new Promise<string>((resolve) => {
					started.push(account);
					finish.push(() => resolve(account));
				}),
		);
	const results = [
		...Array.from({ length: 10 }, () => run("mallory")),
		run("bank"),
	];
	expect(started).toEqual(["mallory", "mallory"]);
	finish[0]!();
	await results[0];
	await new Promise(setImmediate);
	finish[1]!();
	await results[1];
	await new Promise(setImmediate);
	expect(started).toEqual(["mallory", "mallory", "mallory", "bank"]);
	for (let n = 2; n < 11; n++) {
		finish[n]!();
		await new Promise(setImmediate);
	}
	expect(await results.at(-1)).toBe("bank");
});

test("work that fails gives its slot to the next", async () => {
	const slots = new WorkerSlots(1);
	const failed = slots.run("shop", () => Promise.reject(new Error("broken")));
	const next = slots.run("shop", async () => "done");
	await expect(failed).rejects.toThrow("broken");
	expect(await next).toBe("done");
});
