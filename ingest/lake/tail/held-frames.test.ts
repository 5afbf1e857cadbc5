import { expect, test } from "vitest";
import { FairRoom } from "../../../packages/fair/fair-room.ts";
import { HeldFrames, maxHeldBytes } from "./held-frames.ts";

const frameBytes = 1024 * 1024;

/** Each tail holds what it can of 20 frames. Returns how many of them all. */
function fill(tails: HeldFrames[]): number {
	let held = 0;
	for (const tail of tails)
		for (let sequence = 1; sequence <= 20; sequence++)
			if (tail.add({ sequence, scanned: [] }, frameBytes)) held++;
	return held;
}

function tailsOf(room: FairRoom, account: string): HeldFrames[] {
	return Array.from({ length: 10 }, () => new HeldFrames(room, account));
}

test("however many tails there are, they hold 32 MiB, and an account's half of it", () => {
	const room = new FairRoom(maxHeldBytes);
	expect(fill(tailsOf(room, "shop"))).toBe(16);
	expect(fill(tailsOf(room, "bank"))).toBe(8);
	for (let at = 0; at < 10; at++) fill(tailsOf(room, `other-${at}`));
	expect(room.take("another", frameBytes)).toBe(false);
});

test("a tail that has caught up gets what it held, and leaves its room to others", () => {
	const room = new FairRoom(maxHeldBytes);
	const tails = tailsOf(room, "shop");
	fill(tails);
	expect(tails.flatMap((tail) => tail.letGo())).toHaveLength(16);
	expect(tails.flatMap((tail) => tail.letGo())).toEqual([]);
	expect(fill(tailsOf(room, "bank"))).toBe(16);
});
