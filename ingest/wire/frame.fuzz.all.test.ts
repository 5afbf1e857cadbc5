// In make test: ingest/wire/frame.test.ts
import { expect, test, vi } from "vitest";
import { corpusOf, fuzzSettings } from "../../test/support/fuzz/corpus.ts";
import { mutated } from "../../test/support/fuzz/mutation.ts";
import { randomOf } from "../../test/support/seeded-random.ts";
import {
	decodeFrame,
	encodeEvent,
	encodeFrameHead,
	type Frame,
	FrameError,
	type FrameVersion,
} from "./frame.ts";

const { runs, seed } = fuzzSettings(6_000);
const seeds = corpusOf("frame");

test("bytes of any kind are a frame that encodes to the same bytes, or a FrameError", () => {
	const random = randomOf(seed);
	for (const bytes of seeds) check(bytes);
	let accepted = 0;
	for (let round = 0; round < runs; round++) {
		const bytes = seeds[Math.floor(random() * seeds.length)]!;
		if (check(mutated(bytes, random))) accepted++;
	}
	// Otherwise the mutations would only test the first check.
	expect(accepted).toBeGreaterThan(runs / 100);
});

/** Whether the bytes are a frame. */
function check(bytes: Buffer): boolean {
	let frame: Frame;
	try {
		frame = decodeFrame(bytes);
	} catch (error) {
		if (error instanceof FrameError) return false;
		throw new Error(`not a FrameError for ${bytes.toString("hex")}`, {
			cause: error,
		});
	}
	for (const { account, receivedAtMs } of frame.events) {
		// They become parts of object keys.
		expect(account).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
		expect(new Date(receivedAtMs).toISOString()).toMatch(/^\d{4}-/);
	}
	// Invalid UTF-8 is replaced, so it doesn't come back.
	if (frame.events.some(hasReplacement)) return true;
	const { process, number, voided, events } = frame;
	const again = Buffer.concat([
		encodeFrameHead(
			process,
			number,
			voided,
			events.length,
			bytes[3] as FrameVersion,
		),
		...events.flatMap(encodeEvent),
	]);
	if (!again.equals(bytes))
		throw new Error(`encodes differently: ${bytes.toString("hex")}`);
	return true;
}

function hasReplacement({ headers, violations }: Frame["events"][number]) {
	return `${headers}${violations}`.includes("\ufffd");
}

test("lengths that promise too much cost no work: nothing is read twice", () => {
	const read = vi.spyOn(Buffer.prototype, "toString");
	const random = randomOf(seed);
	let worst = 0;
	for (let round = 0; round < runs / 3; round++) {
		const bytes = mutated(seeds.at(-2)!, random);
		read.mockClear();
		try {
			decodeFrame(bytes);
		} catch {}
		const work = read.mock.results.reduce(
			(sum, { value }) => sum + String(value).length,
			0,
		);
		worst = Math.max(worst, work / Math.max(bytes.length, 1));
	}
	read.mockRestore();
	// Keys are written in hex, which has two digits for a byte.
	expect(worst).toBeLessThan(4);
});
