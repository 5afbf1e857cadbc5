import { expect, test } from "vitest";
import { hasGivenUpWriting, hasRoom } from "./full-disk.ts";

test.each([
	"JetStream stream 'tidemill > tidemill-frames-0-ab' write error: no space left on device",
	"stream write error: write /data/jetstream/1.blk: no space left on device",
	"node write error: no space left on device",
	"JetStream not enabled",
])("nats-server has given up to write: %s", (error) => {
	expect(hasGivenUpWriting({ errors: [{}, { error }] })).toBe(true);
	expect(hasGivenUpWriting({ error })).toBe(true);
});

test("a server that is well or lags behind the others writes", () => {
	expect(hasGivenUpWriting({})).toBe(false);
	const errors = [{ error: "JetStream stream 'a > b' is not current" }];
	expect(hasGivenUpWriting({ errors })).toBe(false);
});

test("a disk has room when a twentieth of it is free", () => {
	expect(hasRoom({ blocks: 100, bavail: 5 })).toBe(true);
	expect(hasRoom({ blocks: 100, bavail: 4 })).toBe(false);
});
