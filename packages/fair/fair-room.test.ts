import { expect, test } from "vitest";
import { FairRoom } from "./fair-room.ts";

test("one owner alone gets half of the room, and the next one half of the rest", () => {
	const room = new FairRoom(100);
	expect(room.take("a", 50)).toBe(true);
	expect(room.take("a", 1)).toBe(false);
	expect(room.take("b", 26)).toBe(false);
	expect(room.take("b", 25)).toBe(true);
	expect(room.take("c", 12)).toBe(true);
});

test("what is given back may be taken again, by anybody", () => {
	const room = new FairRoom(100);
	room.take("a", 50);
	room.giveBack("a", 30);
	expect(room.take("b", 40)).toBe(true);
	expect(room.take("b", 1)).toBe(false);
	room.giveBack("a", 20);
	room.giveBack("b", 40);
	expect(room.take("c", 50)).toBe(true);
});
