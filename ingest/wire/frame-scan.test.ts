import { expect, test } from "vitest";
import {
	decodeFrame,
	encodeEvent,
	encodeFrameHead,
	frameVersionOf,
} from "./frame.ts";
import type { FrameEvent } from "./frame-event.ts";
import { scanFrame } from "./frame-scan.ts";

const key = (digit: string) => digit.repeat(32);

function event(
	sourceKey: string,
	change: Partial<FrameEvent> = {},
): FrameEvent {
	return {
		id: new Uint8Array(16).fill(1),
		receivedAtMs: 1_772_366_400_000,
		sourceKey,
		account: "shop",
		kind: "json",
		headers: "",
		violations: "",
		body: Buffer.from("{}"),
		...change,
	};
}

function frameOf(events: FrameEvent[], voided: number[] = []): Buffer {
	const version = Math.max(...events.map(frameVersionOf)) as 1 | 2 | 3;
	return Buffer.concat([
		encodeFrameHead(key("f"), 1, voided, events.length, version),
		...events.flatMap(encodeEvent),
	]);
}

test("it finds what decoding the whole frame finds, and numbers each Source's events", () => {
	const events = [
		event(key("a")),
		event(key("b"), { quarantined: true, violations: "{}" }),
		event(key("a"), { key: key("c"), headers: '{"x":"y"}' }),
	];
	const bytes = frameOf(events, [3, 4]);
	const decoded = decodeFrame(bytes).events;
	for (const wanted of ["a", "b"]) {
		const found = scanFrame(bytes, (one) => one === key(wanted));
		expect(found.map(({ event }) => event)).toEqual(
			decoded.filter(({ sourceKey }) => sourceKey === key(wanted)),
		);
		expect(found.map(({ index }) => index)).toEqual(found.map((_, i) => i));
	}
	expect(scanFrame(bytes, () => false)).toEqual([]);
});

test("a frame that ends too early throws instead of being read beyond its end", () => {
	const bytes = frameOf([event(key("a")), event(key("a"))]);
	for (let length = 4; length < bytes.length; length++)
		expect(() => scanFrame(bytes.subarray(0, length), () => true)).toThrow();
});
