import { loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { followArchive } from "../../../api/events/archive-tail.ts";
import { HeldBytes } from "../../../ingest/lake/tail/held-frames.ts";
import { ShardTails } from "../../../ingest/lake/tail/shard-tails.ts";
import { createLog } from "../../../packages/service/log.ts";
import {
	type ReceiveFixture,
	startReceiveFixture,
} from "../../../test/support/fixtures/data-plane/receiver.ts";
import {
	sendJSON,
	untilKnown,
} from "../../../test/support/senders/http-client.ts";
import {
	type Bench,
	compared,
	figure,
	type Measurement,
	median,
	percentile,
	type Say,
} from "../measure/measurement.ts";
import { alternate, each, load, withCpu } from "../receive/leg.ts";

const quietEvents = 50;

/** Archive's reader runs in the bench's process, and so beside receive and NATS, as archive does. */
export const bench: Bench = {
	about:
		"from the answer to an event until a live tail shows it; and receive's rate with an open tail, against none",
	run: async (say) => {
		const fixture = await startReceiveFixture({ max_bytes: 8 * 1024 ** 3 });
		try {
			return await measure(fixture, say);
		} finally {
			await fixture.stop();
		}
	},
};

async function measure(
	fixture: ReceiveFixture,
	say: Say,
): Promise<Measurement[]> {
	const as = (role: "api" | "archive") => {
		const { host, username, password } = new URL(fixture.nats.urlFor(role));
		const inboxPrefix = `_INBOX_${role}`;
		return connect({
			servers: host,
			user: username,
			pass: password,
			inboxPrefix,
		});
	};
	const [api, archive] = [await as("api"), await as("archive")];
	const tails = new ShardTails({
		connection: archive,
		shard: 0,
		held: new HeldBytes(),
		log: createLog("bench"),
	});
	const { path, route } = await fixture.routes.add();
	const url = fixture.receiver.url + path;
	await untilKnown(url);
	const { hostname: host, port } = new URL(url);
	const contender = { host, port: Number(port), paths: [path] };
	try {
		const tail = await openTail(api, route.account, route.sourceKey);
		const shown = await latencies(url, tail);
		say(
			`${quietEvents} events: shown after ${median(shown).toFixed(0)} ms; load ${loadavg()[0]!.toFixed(1)}`,
		);
		await tail.stop();
		const pids = {
			receive: fixture.receiver.pid,
			nats: fixture.nats.pid,
			reader: process.pid,
		};
		const plain = () => withCpu(pids, () => load(contender, {}));
		const { without, beside } = await alternate(
			"a tail",
			{
				without: plain,
				beside: async () => {
					const open = await openTail(api, route.account, route.sourceKey);
					const report = await plain();
					await open.stop();
					return report;
				},
			},
			{ say, after: async () => undefined },
		);
		const servers = (legs: typeof beside) =>
			legs.map(({ cpuUs }) => cpuUs.receive + cpuUs.nats);
		return [
			figure("from the answer until it is shown, median", median(shown), "ms"),
			figure(
				"from the answer until it is shown, 99th percentile",
				percentile(shown, 0.99),
				"ms",
				{ atMost: 1_000 },
			),
			compared(
				"events/s with an open tail, against none",
				"events/s",
				each(beside, "requestsPerSecond"),
				each(without, "requestsPerSecond"),
			),
			compared(
				"CPU of receive and NATS with an open tail, against none",
				"µs/event",
				servers(beside),
				servers(without),
			),
			figure(
				"CPU of archive's reader and the API's listener",
				beside.map(
					({ cpuUs }, round) => cpuUs.reader - without[round]!.cpuUs.reader,
				),
				"µs/event",
			),
		];
	} finally {
		tails.close();
		await api.close();
		await archive.close();
	}
}

interface OpenTail {
	/** When each event was shown, by performance.now(). */
	shownAt: Map<string, number>;
	stop(): Promise<void>;
}

async function openTail(
	api: NatsConnection,
	account: string,
	sourceKey: string,
): Promise<OpenTail> {
	const shownAt = new Map<string, number>();
	const over = new AbortController();
	const { promise: isOpen, resolve } = Promise.withResolvers<void>();
	const following = followArchive(
		() => api,
		{ account, sourceKey, shard: 0, withBody: false },
		{
			onEvents: (events) => {
				for (const { eventID } of events)
					shownAt.set(eventID, performance.now());
			},
			onLeftOut: () => undefined,
			onArchive: (isThere) => isThere && resolve(),
		},
		over.signal,
	);
	await isOpen;
	return {
		shownAt,
		stop: async () => {
			over.abort();
			await following;
		},
	};
}

/** Of events that come one at a time. */
async function latencies(url: string, tail: OpenTail): Promise<number[]> {
	const times: number[] = [];
	for (let i = 0; i < quietEvents; i++) {
		const { json } = await sendJSON(url, `{"order":${i}}`);
		const answeredAt = performance.now();
		while (!tail.shownAt.has(json.event_id)) await delay(1);
		times.push(Math.max(0, tail.shownAt.get(json.event_id)! - answeredAt));
	}
	return times;
}
