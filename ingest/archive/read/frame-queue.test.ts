import type { JetStreamClient, JsMsg } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { afterEach, expect, test } from "vitest";
import { makeRoomForInput } from "../../../packages/service/nats/input-room.ts";
import { NatsServerDouble } from "../../../test/support/doubles/nats-server.ts";
import { encodeEvent, encodeFrameHead } from "../../wire/frame.ts";
import { cutSize, FrameQueue } from "./frame-queue.ts";

/** With so many Sources, a cut is four times as large as one of few. */
const many = 128;
const framesOfFew = 10;
const framesOfMany = 4 * framesOfFew;

const ends: (() => unknown)[] = [];
afterEach(async () => {
	for (const end of ends.splice(0).reverse()) await end();
});

/** A frame with one event of each of so many Sources. */
function frameOf(sources: number, body = ""): Buffer {
	const events = Array.from({ length: sources }, (_, number) =>
		encodeEvent({
			id: Buffer.alloc(16),
			receivedAtMs: Date.UTC(2026, 2, 1),
			sourceKey: number.toString(16).padStart(32, "0"),
			account: "shop",
			kind: "json",
			headers: "",
			violations: "",
			body: Buffer.from(body),
		}),
	);
	const head = encodeFrameHead("00".repeat(16), 1, [], sources);
	return Buffer.concat([head, ...events.flat()]);
}

/** A stream of these frames. Behind the last one it waits. */
function jetstreamOf(frames: Uint8Array[]) {
	const messages = async function* () {
		for (const [index, data] of frames.entries()) {
			const info = { streamSequence: index + 1, timestampNanos: 0 };
			yield { data, info } as JsMsg;
		}
		await new Promise(() => undefined);
	};
	const consumer = {
		fetch: async () => Object.assign(messages(), { stop: () => undefined }),
		delete: async () => true,
	};
	return {
		consumers: { get: async () => consumer },
	} as unknown as JetStreamClient;
}

async function queueOf(frames: Uint8Array[]): Promise<FrameQueue> {
	const queue = await FrameQueue.open(jetstreamOf(frames), {
		stream: "s",
		from: 1,
		limits: cutSize(framesOfFew * frames[0]!.length, 1),
		onChange: () => undefined,
	});
	ends.push(() => queue.close());
	return queue;
}

/** How many frames are read ahead. It takes no I/O, so all of them are read by the next turn. */
async function readAhead(queue: FrameQueue): Promise<number> {
	await new Promise((resolve) => setImmediate(resolve));
	queue.throwIfFailed();
	return queue.uncut.frames;
}

function takeAll(queue: FrameQueue) {
	return queue.take(queue.uncut.lastSequence);
}

test("beside a cut of many Sources that is being written half of the next one is read ahead, and all of it once the cut's frames are free, round after round", async () => {
	const frame = frameOf(many);
	const queue = await queueOf(Array(400).fill(frame));
	for (let round = 0; round < 5; round++) {
		expect(await readAhead(queue)).toBe(framesOfMany);
		const taken = takeAll(queue);
		expect(taken).toHaveLength(framesOfMany);
		expect(await readAhead(queue)).toBe(framesOfMany / 2);
		queue.free(taken);
	}
});

test("with few Sources a whole cut is read ahead, whatever is being written", async () => {
	const queue = await queueOf(Array(400).fill(frameOf(1)));
	for (let round = 0; round < 5; round++) {
		expect(await readAhead(queue)).toBe(framesOfFew);
		takeAll(queue);
	}
});

test("the memory of large frames is held while they are read, and free once they are freed", async () => {
	const server = new NatsServerDouble();
	ends.push(() => server.close());
	const connection = await connect({ servers: await server.listen() });
	ends.push(() => connection.close());
	makeRoomForInput(connection);
	const subscription = connection.subscribe("frames", { max: 2 });
	await connection.flush();
	const sent = frameOf(1, "x".repeat(2 ** 20));
	server.send("frames", [sent, sent]);
	const received: Uint8Array[] = [];
	for await (const { data } of subscription) received.push(data);

	const queue = await queueOf(received);
	expect(await readAhead(queue)).toBe(2);
	const taken = queue.take(1);
	expect(taken[0]!.frame.events[0]!.body).toHaveLength(2 ** 20);
	queue.free(taken);
	expect(received.map((data) => data.length)).toEqual([0, sent.length]);
});
