import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { jetstreamManager } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import { openKeyBucket } from "../../../ingest/archive/write/idempotency-settlement.ts";
import { NatsProgress } from "../../../ingest/archive/write/nats-progress.ts";
import { entryKey } from "../../../ingest/wire/idempotency-bucket.ts";
import { RouteBuckets } from "../../../operator/source/routes/route-buckets.ts";
import { bucket } from "../../../packages/contracts/nats.ts";
import type { Route } from "../../../packages/contracts/route.ts";
import { addDays, datesBetween } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { createLog } from "../../../packages/service/log.ts";
import { connectNats } from "../../../packages/service/nats/connection.ts";
import { Settings } from "../../../packages/service/settings.ts";
import { routeWith } from "../../../test/support/examples/route-example.ts";
import { startNats } from "../../../test/support/servers/servers.ts";
import { memory } from "../measure/process-cost.ts";

export interface NatsYearOptions {
	days: number;
	sources: number;
	/** So often each Source's ledger is published on a day. */
	ledgersOfDay: number;
	/** Idempotency keys of a day. They live a day. */
	keysOfDay: number;
	/** A new Source takes the place of one that is deleted, so often. */
	daysBetweenDeletions: number;
}

/** What nats-server has at the end of a day. */
export interface NatsDay {
	day: number;
	residentBytes: number;
	/** Of all streams, on the disk: nats-server writes a file of many replaced messages anew only when they are most of it. */
	diskBytes: number;
	/** By bucket. */
	messages: Record<string, number>;
	bytes: Record<string, number>;
}

const atOnce = 64;
/** A key lives at least so long, whatever its day lasts: NATS takes whole seconds. */
const keyMs = 1_000;

/**
 * What the buckets of a real nats-server hold day by day, written by the classes that write them: ledgers, routes, who owns source
 * keys, and idempotency keys. A day lasts as long as its work, and its keys expire with it.
 */
export async function liveWithNats(
	options: NatsYearOptions,
	onDay: (day: NatsDay) => void,
): Promise<void> {
	const log = createLog("bench");
	log.level = "warn";
	const nats = await startNats();
	const settings = new Settings({ NATS_URL: nats.url });
	const connection = await connectNats(settings, "operator", log);
	const stop = new AbortController();
	try {
		const progress = await NatsProgress.open(connection, 1);
		const keys = await openKeyBucket(connection, {
			maxKeys: 2_000_000,
			replicas: 1,
		});
		const buckets = new RouteBuckets(connection, { replicas: 1, log });
		const following = buckets.run(stop.signal);
		const routes = Array.from({ length: options.sources }, (_, n) =>
			routeOf(n),
		);
		let made = routes.length;
		const { streams } = await jetstreamManager(connection);
		for (let day = 1; day <= options.days; day++) {
			const today = addDays("2026-01-01", day);
			if (day % options.daysBetweenDeletions === 0) {
				const { account, sourceKey } = routes.shift()!;
				await progress.setDeleted({ account, sourceKey }, Date.now());
				await buckets.putTombstone(sourceKey, account);
				routes.push(routeOf(made++));
			}
			await buckets.publish(() => routes);
			for (let time = 0; time < options.ledgersOfDay; time++)
				await mapConcurrently(routes, atOnce, ({ account, sourceKey }) =>
					progress.setLedger(ledgerOf({ account, sourceKey }, today, time)),
				);
			const expiresAtMs = Date.now() + keyMs;
			const numbers = Array.from({ length: options.keysOfDay }, (_, n) => n);
			await mapConcurrently(numbers, atOnce, async (n) => {
				const digest = digestOf(`${day}/${n}`);
				const key = entryKey("account-0", digest);
				const entry = { event: digest, frame: `${digest}.${n}`, expiresAtMs };
				await keys.write(key, { state: "stored", ...entry }, 0);
			});
			const all = await Array.fromAsync(streams.list());
			onDay({
				day,
				residentBytes: (await memory(nats.pid)).residentBytes,
				diskBytes: await bytesOf(nats.storeDirectory),
				messages: Object.fromEntries(
					all.map(({ config, state }) => [config.name, state.messages]),
				),
				bytes: Object.fromEntries(
					all.map(({ config, state }) => [config.name, state.bytes]),
				),
			});
		}
		stop.abort();
		await following;
	} finally {
		stop.abort();
		await connection.close();
		await nats.stop();
	}
}

/** What nats-server has of idempotency keys. */
export interface HeldKeys {
	keys: number;
	residentBytes: number;
	/** The most that was resident until now. */
	peakBytes: number;
	/** Of its store, on the disk. */
	diskBytes: number;
}

/** As the chart has it of its limit of memory, 2 GiB; `off` is Go's own. */
const memoryLimit = process.env.BENCH_GOMEMLIMIT || "1717986918";

/** Fewer messages than nats-server queues for a stream. */
const keysOfBatch = 2_500;

/**
 * A real nats-server before it has a key, at each tenth of them, and when all have expired. Each key is written twice, as receive
 * claims it and as archive says that its event is stored; only the last of a batch waits for NATS's answer.
 * @param lifeMs of all keys, from now on.
 */
export async function keepKeys(
	{ count, lifeMs }: { count: number; lifeMs: number },
	onHeld: (held: HeldKeys) => void,
): Promise<void> {
	const nats = await startNats(
		(config) => {
			// Each write waits for the disk otherwise, which takes too long for millions. What is held is the same.
			config.jetstream.sync_interval = "10s";
		},
		{ env: { GOMEMLIMIT: memoryLimit } },
	);
	const settings = new Settings({ NATS_URL: nats.url });
	const log = createLog("bench");
	const connection = await connectNats(settings, "archive", log);
	try {
		const limits = { maxKeys: count, replicas: 1 };
		const keys = await openKeyBucket(connection, limits);
		const look = async () => {
			const { keys: held } = await keys.count();
			const diskBytes = await bytesOf(nats.storeDirectory);
			onHeld({ keys: held, ...(await memory(nats.pid)), diskBytes });
			return held;
		};
		await look();
		const expiresAtMs = Date.now() + lifeMs;
		for (let n = 0; n < count; n++) {
			const digest = digestOf(`key ${n}`);
			const key = entryKey("account-0", digest);
			const event = digest.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
			const claim = { claim: digest, deadlineMs: expiresAtMs, shard: 0 };
			const claimed = { state: "claimed", event, expiresAtMs, ...claim };
			const frame = `${digest}.${n}`;
			const stored = { state: "stored", event, expiresAtMs, frame } as const;
			const write = (entry: object, revision: number) => {
				const own = headers();
				const seconds = Math.ceil((expiresAtMs - Date.now()) / 1_000);
				own.set("Nats-TTL", `${Math.max(1, seconds)}s`);
				own.set("Nats-Expected-Last-Subject-Sequence", `${revision}`);
				const subject = `$KV.${bucket.idempotency}.${key}`;
				connection.publish(subject, JSON.stringify(entry), { headers: own });
			};
			write(claimed, 0);
			const isLast = (n + 1) % keysOfBatch === 0 || n === count - 1;
			if (isLast) await keys.write(key, stored, 2 * n + 1);
			else write(stored, 2 * n + 1);
			if ((n + 1) % (count / 10) === 0) await look();
		}
		await delay(Math.max(0, expiresAtMs - Date.now()));
		while ((await look()) > 0) await delay(10_000);
		// By then it has given memory back.
		await delay(30_000);
		await look();
	} finally {
		await connection.close();
		await nats.stop();
	}
}

async function bytesOf(directory: string): Promise<number> {
	const { stdout } = await promisify(execFile)("du", ["-s", "-B1", directory]);
	return Number.parseInt(stdout, 10);
}

function digestOf(text: string): string {
	return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function routeOf(number: number): Route {
	return routeWith(`url ${number}`, digestOf(`source ${number}`), {
		account: `account-${number % 10}`,
		source: `source-${number}`,
		shard: number % 10,
	});
}

function ledgerOf(
	source: { account: string; sourceKey: string },
	today: string,
	time: number,
) {
	// NATS's clock says how far a ledger may be, so a simulated time mustn't be of the future.
	const through = new Date(Date.now()).toISOString();
	return {
		version: 1 as const,
		...source,
		shard: 0,
		firstEventDate: "2026-01-01",
		lastEventTime: through,
		archivedThrough: through,
		archived: Object.fromEntries(
			datesBetween(addDays(today, -30), today).map((date) => [
				date,
				4_320_000 + time,
			]),
		),
	};
}
