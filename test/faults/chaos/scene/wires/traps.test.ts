import { expect, test } from "vitest";
import { Traps } from "./traps.ts";

/** What happens at each of so many steps. */
async function steps(traps: Traps, count: number): Promise<string[]> {
	const found: string[] = [];
	for (let step = 0; step < count; step++)
		found.push(String(await traps.step("cut", "after", "archive-a")));
	return found;
}

test("each trap of a step counts from when it is set, and springs alone", async () => {
	const traps = new Traps();
	for (const nth of [1, 3, 3]) traps.set("cut", "after", { nth }, () => "lose");
	traps.set("cut", "before", {}, () => 500);
	expect(await steps(traps, 5)).toEqual(["lose", "go", "lose", "lose", "go"]);
	expect(traps.isSet("cut", "after")).toBe(false);
	expect(traps.isSet("cut", "before")).toBe(true);
});

test("a trap springs as often as it says", async () => {
	const traps = new Traps();
	traps.set("cut", "after", { nth: 2, times: 2 }, () => 409);
	expect(await steps(traps, 4)).toEqual(["go", "409", "409", "go"]);
});
