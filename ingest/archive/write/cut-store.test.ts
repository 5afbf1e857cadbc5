import { expect, test } from "vitest";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import type { CutRecord } from "../decide/cut.ts";
import { CutStore } from "./cut-store.ts";

const mark = { id: "x", time: "2026-03-01T12:00:00.000Z" };
const cut = (): CutRecord => ({
	version: 1,
	stream: "tidemill-frames-7-aa",
	first: 1,
	last: 9,
	firstFrame: mark,
	lastFrame: mark,
	repeated: [],
	processes: {},
	groups: [],
});

test("of two archivers that make the same cut one has decided it, also when its request is repeated", async () => {
	const store = new MemoryStore();
	const [own, rival] = [new CutStore(store), new CutStore(store)];
	const [mine, theirs] = [cut(), cut()];
	expect(await own.decide(mine)).toBe(mine);
	expect(await own.decide(mine)).toBe(mine);
	const decided = await rival.decide(theirs);
	expect(decided).not.toBe(theirs);
	expect(decided).toMatchObject(theirs);
});
