import { expect, test } from "vitest";
import { RecentOwners } from "./recent.ts";

test("each owner has its own, and the least recently used one begins anew", () => {
	const used = new RecentOwners(2, () => ({ count: 0 }));
	const use = (owner: string) => ++used.of(owner).count;
	expect(["a", "b", "a", "c", "a", "b"].map(use)).toEqual([1, 1, 2, 1, 3, 1]);
});
