import { expect, test } from "vitest";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { Turns } from "./turns.ts";

const hourMs = 3_600_000;

test("one archive an hour has each work, and it may repeat what failed", async () => {
	const store = new MemoryStore("p");
	const archives = Array.from({ length: 20 }, () => new Turns(store));
	for (let hour = 0; hour < 24 * 40; hour++)
		for (const work of ["a", "b"]) {
			const take = () =>
				Promise.all(archives.map((each) => each.take(work, hour * hourMs)));
			const taken = await take();
			expect(taken.filter(Boolean)).toHaveLength(1);
			expect(await take()).toEqual(taken);
		}
	// What is left doesn't grow with time.
	expect(store.objects.size).toBe(2);
});

test("an archive that is gone leaves the work to another one, in the next hour", async () => {
	const store = new MemoryStore();
	expect(await new Turns(store).take("a", 0)).toBe(true);
	const next = new Turns(store);
	expect(await next.take("a", hourMs - 1)).toBe(false);
	expect(await next.take("a", hourMs)).toBe(true);
});
