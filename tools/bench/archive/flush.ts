import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { S3ObjectStore } from "../../../ingest/archive/s3/s3-object-store.ts";
import {
	encodeEvent,
	encodeFrameHead,
	frameId,
} from "../../../ingest/wire/frame.ts";
import { askArchive } from "../../../operator/reconcile/archive-question.ts";
import type { ManifestAnswer } from "../../../packages/contracts/manifest.ts";
import {
	framesSubject,
	manifestSubject,
} from "../../../packages/contracts/nats.ts";
import { createLog } from "../../../packages/service/log.ts";
import { accessStore } from "../../../test/support/servers/store-access.ts";
import { type Bench, compared } from "../measure/measurement.ts";
import { startArchive } from "./archive-process.ts";
import { withDataPlane } from "./data-plane.ts";

const eventsPerSecond = 10;
const flushes = 20;
const source = { account: "bench", sourceKey: "5a".repeat(16) };
const maxBytes = 64 * 1024 ** 2;

/** How long a Run waits for its manifest, until every event that was answered before it is in S3. */
export const bench: Bench = {
	about: `flush on demand at ${eventsPerSecond} events/s: from the question for a Run's manifest to the answer, ${flushes} times; baseline: one conditional PUT of as much as a cut's object`,
	async run(say) {
		return withDataPlane(maxBytes, async ({ connection, nats, s3 }) => {
			const { signal } = new AbortController();
			const store = new S3ObjectStore(accessStore(s3), signal);
			const archive = await startArchive(nats, s3);
			const over = new AbortController();
			try {
				const publishing = publish(connection, over.signal);
				publishing.catch(() => undefined);
				const [flushed, put]: [number[], number[]] = [[], []];
				const body = randomBytes(4_096);
				for (let n = 0; n < flushes; n++) {
					// Meanwhile frames wait in archive for a cut, which is due after a minute.
					await delay(500 + Math.random() * 500);
					flushed.push(await msOf(() => ask(connection)));
					put.push(
						await msOf(() =>
							store.putNew(`baseline/${randomUUID()}`, body, "text/plain"),
						),
					);
				}
				over.abort();
				say(`${await publishing} events, ${flushes} flushes`);
				return [compared("flush", "ms", flushed, put, { atMost: 2_000 })];
			} finally {
				over.abort();
				archive.child.kill();
				await archive.ended;
				store.close();
			}
		});
	},
};

async function msOf(work: () => Promise<unknown>): Promise<number> {
	const startMs = performance.now();
	await work();
	return performance.now() - startMs;
}

/** Asks as the operator does for a new Run. */
async function ask(connection: NatsConnection): Promise<void> {
	const answer = await askArchive<ManifestAnswer>(
		{ nats: connection, log: createLog("test") },
		{ subject: manifestSubject(0), shard: 0 },
		{ run: randomUUID(), extent: "Whole", ...source },
		"NoAnswer",
		new AbortController().signal,
	);
	if (!answer.ok) throw new Error(answer.error.message);
}

/** Publishes one frame per event, as receive does at light load. Returns the number of events. */
async function publish(
	connection: NatsConnection,
	signal: AbortSignal,
): Promise<number> {
	const process = randomBytes(16).toString("hex");
	let number = 0;
	while (!signal.aborted) {
		const event = encodeEvent({
			...source,
			id: randomBytes(16),
			receivedAtMs: Date.now(),
			kind: "json",
			headers: "",
			violations: "",
			body: Buffer.from(JSON.stringify(randomBytes(180).toString("hex"))),
		});
		const head = encodeFrameHead(process, ++number, [], 1);
		await jetstream(connection).publish(
			framesSubject(0),
			Buffer.concat([head, ...event]),
			{ msgID: frameId(process, number) },
		);
		await delay(1000 / eventsPerSecond);
	}
	return number;
}
