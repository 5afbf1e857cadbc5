import type { NatsConnection } from "@nats-io/transport-node";
import { afterEach, expect, test, vi } from "vitest";
import { FairLimit } from "../../../packages/fair/fair-limit.ts";
import { FrameBatches } from "../../archive/read/frame-batches.ts";
import { encodeFrameHead } from "../../wire/frame.ts";
import { catchUp } from "./catch-up.ts";
import { TailLease } from "./lease.ts";

const stream = "tidemill-frames-0-0123456789abcdef";

/** NATS, as far as it says which frames a stream has. */
const connection = {
	options: {},
	request: async () => ({
		string: () => '{"config":{},"state":{"first_seq":1,"last_seq":9}}',
		data: Buffer.from('{"config":{},"state":{"first_seq":1,"last_seq":9}}'),
	}),
} as unknown as NatsConnection;

/** Of nobody's events. */
const frame = encodeFrameHead("f".repeat(32), 1, [], 0);

afterEach(() => {
	vi.restoreAllMocks();
});

/** Catches up from frame 6 on to frame 9 with a reader that sees these frames and is closed then. */
async function caughtUp(sequences: number[]): Promise<boolean> {
	const reader: Pick<FrameBatches, "run" | "close"> = {
		run: async (onFrame) => {
			for (const sequence of sequences)
				if (!(await onFrame(sequence, frame))) return;
		},
		close: async () => undefined,
	};
	vi.spyOn(FrameBatches, "open").mockResolvedValue(reader as FrameBatches);
	const lease = new TailLease(
		{
			tail: "t",
			account: "shop",
			sourceKey: "a".repeat(32),
			after: { stream, sequence: 5 },
		},
		0,
	);
	await catchUp({
		connection,
		stream,
		lease,
		turns: new FairLimit({ atOnce: 1 }),
		isWanted: () => true,
	});
	const message = lease.message("renew", 0);
	return message?.ok === true && message.hasGap === true;
}

test.each([
	["reads all", [6, 7, 8, 9], false],
	["is cut off", [6, 7], true],
	["sees nothing", [], true],
	["finds the first ones purged", [8, 9], true],
	["finds all purged, and new ones", [12], true],
])(
	"a tail that %s says whether events may be missing",
	async (_, sequences, hasGap) => {
		expect(await caughtUp(sequences)).toBe(hasGap);
	},
);
