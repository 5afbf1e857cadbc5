import { expect, test } from "vitest";
import {
	decodeFrame,
	encodeEvent,
	encodeFrameHead,
	type Frame,
	FrameError,
	frameVersionOf,
} from "./frame.ts";
import type { FrameEvent } from "./frame-event.ts";
import { SharedFields } from "./shared-fields.ts";

const process = "00112233445566778899aabbccddeeff";

function event(body: string, more: Partial<FrameEvent> = {}): FrameEvent {
	return {
		id: Buffer.from("01890a5dac967c4bb1a1c2d3e4f50617", "hex"),
		receivedAtMs: Date.UTC(2026, 10, 21),
		sourceKey: "ffeeddccbbaa99887766554433221100",
		account: "shop",
		kind: "json",
		headers: "",
		violations: "",
		body: Buffer.from(body),
		...more,
	};
}

function encode(events: FrameEvent[], voided: number[] = []): Buffer {
	return Buffer.concat([
		encodeFrameHead(process, 7, voided, events.length),
		...events.flatMap(encodeEvent),
	]);
}

/** What its getters say. */
function objectsOf({ events }: Frame): FrameEvent[] {
	return events.map((event) => ({
		id: event.id,
		receivedAtMs: event.receivedAtMs,
		sourceKey: event.sourceKey,
		account: event.account,
		kind: event.kind,
		headers: event.headers,
		violations: event.violations,
		quarantined: event.quarantined,
		key: event.key,
		body: event.body,
	}));
}

test("a decoded frame equals the encoded one", () => {
	const events = [
		event('{"a":"ü"}'),
		event("", { kind: "form", headers: '{"x-a":"ß"}', violations: "[1]" }),
		event("x".repeat(100_000), { account: "a".repeat(63) }),
	];
	const decoded = decodeFrame(encode(events, [3, 2 ** 47]));
	expect({ ...decoded, events: objectsOf(decoded) }).toEqual({
		process,
		number: 7,
		voided: [3, 2 ** 47],
		events,
	});
});

test("a frame with missing bytes or one too many is refused", () => {
	const whole = encode([event("{}"), event("[1]")], [1]);
	for (let length = 0; length < whole.length; length++)
		expect(() => decodeFrame(whole.subarray(0, length))).toThrow(FrameError);
	expect(() => decodeFrame(Buffer.concat([whole, Buffer.alloc(1)]))).toThrow(
		FrameError,
	);
});

test("an unknown version is refused by its number", () => {
	const other = encode([]);
	other[3] = 4;
	expect(() => decodeFrame(other)).toThrow("version 4");
});

test("a frame with an idempotency key has version 2, even with other events without keys", () => {
	const events = [
		event("1"),
		event("2", { key: "ab".repeat(16), kind: "form", violations: "[]" }),
		event("", { key: "00".repeat(16) }),
	];
	const frame = Buffer.concat([
		encodeFrameHead(process, 7, [], events.length, 2),
		...events.flatMap(encodeEvent),
	]);
	expect(objectsOf(decodeFrame(frame))).toEqual(events);
	for (let length = 0; length < frame.length; length++)
		expect(() => decodeFrame(frame.subarray(0, length))).toThrow(FrameError);
	// An archive that only knows version 1 would take the key for a part of the body.
	frame[3] = 1;
	expect(() => decodeFrame(frame)).toThrow("unknown content kind");
});

test("a frame with a quarantined event has version 3, even with other events that are not", () => {
	const events = [
		event("1", { quarantined: true }),
		event("2", { key: "ab".repeat(16), quarantined: true, kind: "form" }),
		event("3", { key: "00".repeat(16) }),
		event("4"),
	];
	expect(events.map(frameVersionOf)).toEqual([3, 3, 2, 1]);
	const frame = Buffer.concat([
		encodeFrameHead(process, 7, [], events.length, 3),
		...events.flatMap(encodeEvent),
	]);
	expect(objectsOf(decodeFrame(frame))).toEqual(events);
	// An archive that knows version 2 would load the event.
	frame[3] = 2;
	expect(() => decodeFrame(frame)).toThrow("unknown content kind");
});

test("headers too long for their length field are refused, not truncated", () => {
	expect(() => encodeEvent(event("", { headers: "x".repeat(65_536) }))).toThrow(
		RangeError,
	);
});

test("each event has its own fields, however many are the same as another's", () => {
	const sources = ["0", "1", "2"].map((digit) => digit.repeat(32));
	const events = Array.from({ length: 60 }, (_, index) =>
		event(String(index), {
			sourceKey: sources[index % 3]!,
			account: ["shop", "other"][index % 2]!,
			kind: index % 5 === 0 ? "form" : "json",
			...(index % 7 === 0 && { headers: `{"i":${index}}` }),
			...(index % 4 === 0 && { violations: `[${index}]` }),
			...(index % 6 === 0 && { key: `${10 + index}`.repeat(16) }),
			...(index % 11 === 0 && { quarantined: true as const }),
		}),
	);
	const frame = Buffer.concat([
		encodeFrameHead(process, 7, [], events.length, 3),
		...events.flatMap(encodeEvent),
	]);
	const shared = new SharedFields();
	for (let round = 0; round < 2; round++)
		expect(objectsOf(decodeFrame(frame, shared))).toEqual(events);
});

test("fields that a frame of a later version has made are no fields of an earlier one", () => {
	const events = [event("1", { quarantined: true })];
	const frame = Buffer.concat([
		encodeFrameHead(process, 7, [], 1, 3),
		...events.flatMap(encodeEvent),
	]);
	const shared = new SharedFields();
	expect(objectsOf(decodeFrame(frame, shared))).toEqual(events);
	frame[3] = 2;
	expect(() => decodeFrame(frame, shared)).toThrow("unknown content kind");
});
