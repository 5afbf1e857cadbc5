import { beforeEach, expect, test } from "vitest";
import { StreamBacklog } from "./shard-writer.ts";

const maxBytes = 1_000;
let backlog: StreamBacklog;
let firstSequence: number;
let lastSequence: number;
/** Of the stream's messages, by sequence. */
let held: Map<number, number>;

beforeEach(() => {
	backlog = new StreamBacklog();
	firstSequence = 1;
	lastSequence = 0;
	held = new Map();
	inspect();
});

function inspect(stream = "s1"): void {
	const bytes = held.values().reduce((sum, each) => sum + each, 0);
	const freeBytes = maxBytes - bytes;
	backlog.inspected({ stream, freeBytes, firstSequence, lastSequence });
}

function store(account: string, bytes: number): void {
	held.set(++lastSequence, bytes);
	backlog.stored([{ account, bytes }]);
}

/** Stores as many events as there is room for; how many. */
function fill(account: string, bytes = 10): number {
	let stored = 0;
	for (; backlog.hasRoomFor(account); stored++) store(account, bytes);
	return stored;
}

function archiveThrough(sequence: number): void {
	for (; firstSequence <= sequence; firstSequence++) held.delete(firstSequence);
	inspect();
}

test("an account that floods leaves the others a fifth of the stream, and each further one something", () => {
	expect(fill("mallory")).toBe(81);
	expect(backlog.isRefusing).toBe(true);
	expect(backlog.hasRoomFor("bank")).toBe(true);
	expect(fill("eve")).toBe(16);
	expect(fill("trent")).toBe(3);
	store("bank", 0);
	expect(backlog.hasRoomFor("bank")).toBe(true);
});

test("what archive has taken is room again", () => {
	fill("mallory");
	inspect();
	expect(backlog.isRefusing).toBe(false);
	expect(backlog.hasRoomFor("mallory")).toBe(false);
	archiveThrough(40);
	expect(backlog.hasRoomFor("mallory")).toBe(true);
	archiveThrough(lastSequence);
	expect(fill("mallory")).toBe(81);
});

test("what others stored through another receiver counts as taken, but not as the account's", () => {
	held.set(++lastSequence, 900);
	inspect();
	store("bank", 10);
	expect(backlog.hasRoomFor("bank")).toBe(true);
	expect(fill("mallory")).toBe(8);
});

test("a stream without a limit has room, and so has one that was made anew", () => {
	fill("mallory");
	held.clear();
	inspect("s2");
	expect(fill("mallory")).toBe(81);
	const unlimited = { stream: "s2", freeBytes: Infinity };
	backlog.inspected({ ...unlimited, firstSequence, lastSequence });
	expect(backlog.hasRoomFor("mallory")).toBe(true);
});

test("the counts stay right however often the stream is looked at", () => {
	for (let n = 0; n < 3_000; n++) {
		backlog.stored([{ account: "shop", bytes: 0.1 }]);
		lastSequence++;
		inspect();
	}
	backlog.inspected({
		stream: "s1",
		freeBytes: 74,
		firstSequence,
		lastSequence,
	});
	expect(backlog.hasRoomFor("shop")).toBe(false);
	backlog.inspected({
		stream: "s1",
		freeBytes: 76,
		firstSequence,
		lastSequence,
	});
	expect(backlog.hasRoomFor("shop")).toBe(true);
});
