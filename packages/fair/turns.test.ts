import { expect, test } from "vitest";
import { OwnerTurns } from "./fair-limit.ts";

function waiting(...items: string[]): OwnerTurns<string> {
	const turns = new OwnerTurns<string>();
	for (const item of items) turns.add(item[0]!, item);
	return turns;
}

function takeAll(turns: OwnerTurns<string>): string[] {
	const taken: string[] = [];
	for (let next = turns.take(); next; next = turns.take())
		taken.push(next.item);
	return taken;
}

test("owners take turns, and each owner's items keep their order", () => {
	const turns = waiting("a1", "a2", "a3", "b1", "c1", "b2");
	expect(turns.size).toBe(6);
	expect(takeAll(turns)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
	expect(turns.size).toBe(0);
});

test("an item that is put back waits for its owner's next turn, before the owner's others", () => {
	const turns = waiting("a1", "a2", "b1");
	const { owner, item } = turns.take()!;
	turns.putBack(owner, item);
	expect(takeAll(turns)).toEqual(["b1", "a1", "a2"]);
});

test("an item is withdrawn once", () => {
	const turns = waiting("a1", "a2", "b1");
	expect(turns.withdraw("a", "a1")).toBe(true);
	expect(turns.withdraw("a", "a1")).toBe(false);
	expect(turns.withdraw("d", "d1")).toBe(false);
	expect([turns.size, turns.sizeOf("a"), turns.sizeOf("d")]).toEqual([2, 1, 0]);
	expect(takeAll(turns)).toEqual(["a2", "b1"]);
});

test("the longest queue's newest item is found", () => {
	expect(waiting().newestOfLongest()).toBeUndefined();
	const turns = waiting("a1", "b1", "b2");
	expect(turns.newestOfLongest()).toEqual({ owner: "b", item: "b2" });
});

test("an owner that is passed over keeps its turn", () => {
	const turns = waiting("a1", "b1", "b2", "c1");
	expect(turns.take((owner) => owner !== "a")?.item).toBe("b1");
	expect(turns.take(() => false)).toBeUndefined();
	expect(takeAll(turns)).toEqual(["a1", "c1", "b2"]);
});
