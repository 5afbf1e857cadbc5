import { beforeEach, expect, test } from "vitest";
import { maxSilenceMs } from "../../../packages/contracts/archive.ts";
import { LivingArchives } from "./living-archives.ts";

let archives: LivingArchives;

beforeEach(() => {
	archives = new LivingArchives();
	archives.begin();
	archives.complete();
});

function announce(
	archive: string,
	frameVersion: number,
	atMs = 0,
	shards = [0],
): void {
	archives.set(archive, JSON.stringify({ frameVersion, shards }), 1, atMs);
}

test("before an archive has announced itself, it reads nothing new", () => {
	expect(archives.read(0, 3)).toBe(false);
	announce("a", 3);
	expect(archives.read(0, 3)).toBe(true);
	expect(archives.read(1, 3)).toBe(false);
});

test("one old archive of the shard, active or standing by, keeps a new version away until it stops or is dead", () => {
	announce("new", 3);
	announce("old", 2);
	expect(archives.read(0, 2)).toBe(true);
	expect(archives.read(0, 3)).toBe(false);
	archives.set("old", undefined, 2, 1);
	expect(archives.read(0, 3)).toBe(true);

	announce("old", 2, 1_000);
	announce("new", 3, 1_000 + maxSilenceMs);
	expect(archives.read(0, 3)).toBe(false);
	announce("new", 3, 1_001 + maxSilenceMs);
	expect(archives.read(0, 3)).toBe(true);
});

test("an old archive counts however long it is silent, while no other announces itself for its shard", () => {
	announce("old", 2, 0, [0, 1]);
	announce("new", 3, 10 * maxSilenceMs, [1]);
	expect(archives.read(0, 3)).toBe(false);
	expect(archives.read(1, 3)).toBe(true);
});

test("while no archive lives, what the last one read counts", () => {
	announce("old", 2, 0);
	announce("new", 3, 2 * maxSilenceMs);
	expect(archives.read(0, 3)).toBe(true);
	// The bucket is read again after a reconnect.
	archives.begin();
	announce("old", 2, 0);
	expect(archives.read(0, 3)).toBe(true);
	announce("new", 3, 2 * maxSilenceMs);
	archives.complete();
	expect(archives.read(0, 3)).toBe(true);
	archives.begin();
	archives.complete();
	expect(archives.read(0, 3)).toBe(false);
});
