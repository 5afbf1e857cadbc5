import { expect, test } from "vitest";
import type { TailPosition } from "../../../packages/contracts/event-tail.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";
import { rangeOf } from "./catch-up.ts";
import { TailLease } from "./lease.ts";

const sourceKey = "a".repeat(32);
const stream = "tidemill-frames-0-0123456789abcdef";

function lease(
	change: { body?: boolean; after?: TailPosition } = {},
): TailLease {
	return new TailLease({ tail: "t", account: "shop", sourceKey, ...change }, 0);
}

function scanned(count: number, change: Partial<FrameEvent> = {}) {
	return Array.from({ length: count }, (_, index) => ({
		index,
		event: {
			id: new Uint8Array(16),
			receivedAtMs: 0,
			sourceKey,
			account: "shop",
			kind: "json" as const,
			headers: "",
			violations: "",
			body: Buffer.from("{}"),
			...change,
		},
	}));
}

function sent(lease: TailLease, nowMs = 0) {
	const message = lease.message("renew", nowMs);
	if (!message?.ok) throw new Error("nothing is sent");
	return message;
}

test("a message has the events since the one before, and where the tail is", () => {
	const tail = lease();
	tail.startAt({ stream, sequence: 4 });
	tail.take(stream, 5, scanned(2), 0);
	expect(sent(tail)).toMatchObject({
		events: [
			{ sequence: 5, index: 0 },
			{ sequence: 5, index: 1 },
		],
		position: { stream, sequence: 5 },
	});
	expect(tail.message("renew", 999)).toBeUndefined();
	// Archive is there, even if there is nothing to say.
	expect(sent(tail, 1_000).events).toEqual([]);
});

test("a frame that was taken before changes nothing", () => {
	const tail = lease();
	tail.startAt({ stream, sequence: 4 });
	tail.take(stream, 4, scanned(1), 0);
	tail.take(stream, 5, scanned(1), 0);
	tail.take(stream, 5, scanned(1), 0);
	expect(sent(tail).events).toHaveLength(1);
});

test("of the frame that its client saw a part of, it takes the rest", () => {
	const tail = lease({ after: { stream, sequence: 5, index: 1 } });
	tail.startAt({ stream, sequence: 4 });
	tail.take(stream, 5, scanned(4), 0);
	expect(sent(tail).events.map(({ index }) => index)).toEqual([2, 3]);
});

test("events of another account or Source are not shown", () => {
	const tail = lease();
	tail.take(stream, 1, scanned(1, { account: "bank" }), 0);
	tail.take(stream, 2, scanned(1, { sourceKey: "b".repeat(32) }), 0);
	expect(sent(tail).events).toEqual([]);
});

test("it shows a bounded number of events in a second, counts the others, and goes on in the next second", () => {
	const tail = lease();
	tail.take(stream, 1, scanned(150), 0);
	expect(sent(tail)).toMatchObject({ leftOut: 50, events: { length: 100 } });
	tail.take(stream, 2, scanned(1), 999);
	expect(sent(tail, 999)).toMatchObject({ leftOut: 1, events: [] });
	tail.take(stream, 3, scanned(1), 1_000);
	expect(sent(tail, 1_000)).toMatchObject({ events: { length: 1 } });
});

test("however large bodies are, what waits for a message is bounded", () => {
	const tail = lease({ body: true });
	tail.take(stream, 1, scanned(90, { body: Buffer.alloc(100_000, "a") }), 0);
	const message = sent(tail);
	expect(JSON.stringify(message).length).toBeLessThan(300_000);
	expect(message.leftOut! + message.events.length).toBe(90);
});

test("it ends 15 seconds after its last renewal", () => {
	const tail = lease();
	expect(tail.hasEnded(14_999)).toBe(false);
	expect(tail.hasEnded(15_000)).toBe(true);
	tail.renew(14_000);
	expect(tail.hasEnded(28_999)).toBe(false);
});

test("what a tracking plan said is shown by kinds", () => {
	const tail = lease();
	const violations = JSON.stringify({
		type: "order.paid",
		violations: [{ kind: "TypeMismatch" }, { kind: "TypeMismatch" }],
	});
	tail.take(stream, 1, scanned(1, { violations, quarantined: true }), 0);
	expect(sent(tail).events).toMatchObject([
		{ type: "order.paid", state: "quarantined", violations: ["TypeMismatch"] },
	]);
});

const at = (sequence: number, index?: number) => ({
	stream,
	sequence,
	...(index !== undefined && { index }),
});

test.each([
	["without a place: new ones", undefined, 1, 9, { from: 10, hasGap: false }],
	["behind a frame", at(5), 1, 9, { from: 6, hasGap: false }],
	["within a frame", at(5, 0), 1, 9, { from: 5, hasGap: false }],
	["behind the last frame", at(9), 1, 9, { from: 10, hasGap: false }],
	["the frame itself is archived", at(5, 0), 6, 9, { from: 6, hasGap: false }],
	["frames behind it are archived", at(5), 8, 9, { from: 8, hasGap: true }],
	["too far back", at(1), 1, 50_000, { from: 30_001, hasGap: true }],
	[
		"of a stream before",
		{ stream: "another", sequence: 5 },
		1,
		9,
		{ from: 10, hasGap: true },
	],
	["of a stream that was restored", at(99), 1, 9, { from: 10, hasGap: true }],
])("catching up, %s", (_, after, first, last, expected) => {
	expect(rangeOf(after, stream, first, last)).toEqual(expected);
});
