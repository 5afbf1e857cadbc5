import { expect, test } from "vitest";
import type { ServerEvent } from "../../packages/service/event-stream.ts";
import { afterPause, afterPiece, emptyTail } from "./tail.ts";

function accepted(count: number, from = 0): ServerEvent[] {
	return Array.from({ length: count }, (_, n) => ({
		event: "accepted",
		id: `a.${from + n}`,
		data: JSON.stringify({ time: "2026-01-01T00:00:00Z", bytes: 2 }),
	}));
}

test("the newest event stands first, and no more than 200 stay", () => {
	let tail = emptyTail;
	for (let n = 0; n < 300; n++) tail = afterPiece(tail, accepted(1, n));
	expect(tail.rows).toHaveLength(200);
	expect(tail.rows[0]!.id).toBe("a.299");
});

test("of a flood a part is shown, and the rest is counted", () => {
	const tail = afterPiece(emptyTail, accepted(5_000));
	expect(tail.rows).toHaveLength(50);
	expect(tail.leftOut).toBe(4_950);
});

test("a paused tail holds what comes, and shows it when it goes on", () => {
	const paused = afterPause(afterPiece(emptyTail, accepted(1)));
	const later = afterPiece(paused, accepted(2, 1));
	expect(later.rows.map(({ id }) => id)).toEqual(["a.0"]);
	expect(later.held).toHaveLength(2);
	expect(afterPause(later).rows.map(({ id }) => id)).toEqual([
		"a.2",
		"a.1",
		"a.0",
	]);
});

test("it says that it connects, or that archive is away, until events show, and counts what the API left out", () => {
	expect(emptyTail.waiting).toMatch(/^Connecting/);
	const waiting = afterPiece(emptyTail, [
		{ event: "waiting", data: '{"message":"Away."}', id: undefined },
		{ event: "left-out", data: '{"count":7}', id: undefined },
		{ event: "later", data: "no JSON", id: undefined },
	]);
	expect(waiting).toMatchObject({ waiting: "Away.", leftOut: 7, rows: [] });
	const open = { event: "open", data: "{}", id: undefined };
	for (const before of [emptyTail, waiting])
		expect(afterPiece(before, [open]).waiting).toBeUndefined();
});
