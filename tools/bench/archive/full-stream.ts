import { randomBytes } from "node:crypto";
import { jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import {
	encodeEvent,
	encodeFrameHead,
	frameId,
} from "../../../ingest/wire/frame.ts";
import type { FrameEvent } from "../../../ingest/wire/frame-event.ts";
import {
	framesSubject,
	maxFrameBytes,
} from "../../../packages/contracts/nats.ts";
import { bodiesOf, githubLists } from "../traffic/bodies.ts";

export const bodyBytes = Number(process.env.BENCH_BODY_BYTES ?? 495);
/** At most half a frame of the largest size. */
export const eventsOfFrame = Math.min(
	200,
	Math.ceil(maxFrameBytes / 2 / (bodyBytes + 100)),
);

const largeBodies =
	bodyBytes < 1_000
		? []
		: bodyBytes < 100_000
			? bodiesOf(bodyBytes)
			: githubLists(bodyBytes);

/** A shop's orders, each with its own ids. Larger bodies are invoices or lists of GitHub's webhooks. */
export function newEvents(count: number): FrameEvent[] {
	return Array.from({ length: count }, (_, index) => ({
		id: randomBytes(16),
		receivedAtMs: Date.now(),
		sourceKey: "5a".repeat(16),
		account: "bench",
		kind: "json" as const,
		headers: "",
		violations: "",
		body: Buffer.from(
			largeBodies[index % largeBodies.length] ?? orderOf(index),
		),
	}));
}

function orderOf(index: number): string {
	return JSON.stringify({
		type: "order.created",
		id: randomBytes(12).toString("hex"),
		customer: { name: "Ada Lovelace", email: `ada${index}@example.com` },
		token: randomBytes(60).toString("base64"),
		items: Array.from({ length: 5 }, (_, item) => ({
			sku: `SKU-${(index * 7 + item) % 1000}`,
			quantity: item + 1,
			price: (index % 50) * 12.5,
		})),
	}).padEnd(bodyBytes);
}

/** Publishes `frames` frames, one after the other. Their events belong to so many sources, in turn. */
export async function fillStream(
	connection: NatsConnection,
	frames: number,
	sources = 1,
): Promise<void> {
	const process = randomBytes(16).toString("hex");
	const client = jetstream(connection);
	// Several bodies: archive would accept equal ones, but zstd would compress them too well.
	const bodies = Array.from({ length: Math.min(100, frames) }, (_, frame) => {
		const events = newEvents(eventsOfFrame).map((event, index) => {
			const source = (frame * eventsOfFrame + index) % sources;
			return sources === 1 ? event : { ...event, sourceKey: keyOf(source) };
		});
		return Buffer.concat(events.flatMap(encodeEvent));
	});
	for (let number = 1; number <= frames; number++) {
		const head = encodeFrameHead(process, number, [], eventsOfFrame);
		const data = Buffer.concat([head, bodies[number % bodies.length]!]);
		await client.publish(framesSubject(0), data, {
			msgID: frameId(process, number),
		});
	}
}

export function keyOf(source: number): string {
	return source.toString(16).padStart(32, "0");
}
