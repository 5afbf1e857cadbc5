import { setTimeout } from "node:timers/promises";
import {
	AckPolicy,
	DiscardPolicy,
	jetstreamManager,
	RetentionPolicy,
	StorageType,
} from "@nats-io/jetstream";
// @nats-io/kv: the NATS makers' own key-value client.
import { Kvm, type KvOptions } from "@nats-io/kv";
import { type NatsConnection, nanos } from "@nats-io/transport-node";
import {
	bucket,
	changesSubject,
	makeSubject,
	notifications,
	rates,
} from "../contracts/nats.ts";
import { isStreamNotFound, isUnheard } from "../service/nats/connection.ts";
import { isInOwnAccount } from "./own-account.ts";

const hourMs = 3_600_000;
const mebibyte = 1024 ** 2;

type Make = (nats: NatsConnection, replicas: number) => Promise<unknown>;

/**
 * The streams and the consumer that other roles than archive use, by what a role asks for. Archive makes them, with these
 * settings alone: whoever may choose a stream's or a consumer's settings can read and write anywhere in its account.
 */
const makes: Record<string, Make> = {
	[streamOf(bucket.routes)]: bucketMaker(bucket.routes),
	[streamOf(bucket.sourceKeys)]: bucketMaker(bucket.sourceKeys),
	[streamOf(bucket.deliveries)]: bucketMaker(bucket.deliveries, {
		ttl: 7 * 24 * hourMs,
		// More than `maxDeliveries` take, at a kilobyte each.
		max_bytes: 64 * mebibyte,
	}),
	[streamOf(bucket.requests)]: bucketMaker(bucket.requests, {
		ttl: 24 * hourMs,
		// More than the most records that there may be, and the largest, take on disk.
		max_bytes: 256 * mebibyte,
	}),
	[rates.stream]: makeRates,
	[notifications.stream]: makeNotifications,
	[notifications.consumer]: makeConsumer,
};

/** Names of all, in an order in which they can be made. */
export const madeNames: readonly string[] = Object.keys(makes);

/** Makes one of {@link madeNames}, unless it is there. Throws errors of NATS. */
export async function make(
	nats: NatsConnection,
	name: string,
	replicas: number,
): Promise<void> {
	await makes[name]!(nats, replicas);
}

/** NATS lacks what a role needs, archive alone makes it, and no archive runs. */
export class NoArchive extends Error {}

const askAgainMs = 2_000;

/** What each connection's role waits for archive to make. */
const awaited = new WeakMap<NatsConnection, Set<string>>();

/** What a person must do so that NATS gets what it lacks, for `/readyz`; undefined if nothing is awaited. */
export function noArchiveNotice(
	nats: NatsConnection | undefined,
): string | undefined {
	const names = [...((nats && awaited.get(nats)) ?? [])];
	return names.length > 0 ? noArchiveFor(names.sort().join(", ")) : undefined;
}

function noArchiveFor(names: string): string {
	return `NATS lacks ${names}, which archive alone makes, and no archive runs: start it (docs/runbooks/TidemillArchiveDown.md)`;
}

/**
 * Has archive make one of {@link madeNames}, or makes it where the role still shares archive's account. A bucket that is there
 * needs no archive. Throws {@link NoArchive}, and when NATS doesn't answer.
 */
export async function haveMade(
	nats: NatsConnection,
	name: string,
	replicas: number,
	timeout = 5_000,
): Promise<void> {
	const awaiting = awaited.get(nats) ?? new Set();
	awaited.set(nats, awaiting);
	if (!(await isInOwnAccount(nats, timeout))) await make(nats, name, replicas);
	else if (!(await isBucketThere(nats, name, timeout)))
		try {
			const answer = await nats.request(makeSubject(name), "", { timeout });
			const { ok, error } = answer.json<MakeAnswer>();
			awaiting.delete(name);
			if (!ok) throw new Error(`archive can't make ${name} in NATS: ${error}`);
		} catch (error) {
			if (!isUnheard(error)) throw error;
			if (!awaiting.has(name)) void askAgain(nats, name, replicas, awaiting);
			throw new NoArchive(noArchiveFor(name));
		}
	awaiting.delete(name);
}

/** Until archive answers, or what it makes is there: whoever has found that by itself doesn't ask, nor does a role with nothing to do. */
async function askAgain(
	nats: NatsConnection,
	name: string,
	replicas: number,
	awaiting: Set<string>,
): Promise<void> {
	awaiting.add(name);
	while (awaiting.has(name) && !nats.isClosed()) {
		await setTimeout(askAgainMs, undefined, { ref: false });
		// What the next one who needs it hears, too.
		await haveMade(nats, name, replicas).catch(() => {});
	}
}

async function isBucketThere(
	nats: NatsConnection,
	name: string,
	timeout: number,
): Promise<boolean> {
	// Roles may not look at the other streams, and ask for one when they have found it missing.
	if (!name.startsWith(streamOf(""))) return false;
	const { streams } = await jetstreamManager(nats, {
		checkAPI: false,
		timeout,
	});
	try {
		await streams.info(name);
		return true;
	} catch (error) {
		if (isStreamNotFound(error)) return false;
		throw error;
	}
}

/** What archive answers on {@link makeSubject}. */
export interface MakeAnswer {
	ok: boolean;
	error?: string;
}

/** The stream of a bucket. */
export function streamOf(name: string): string {
	return `KV_${name}`;
}

/** Has a bucket's stream publish each change, for roles in other accounts. */
export function republished(name: string): Pick<KvOptions, "republish"> {
	return {
		republish: { src: `$KV.${name}.>`, dest: changesSubject(name, ">") },
	};
}

function bucketMaker(name: string, options: Partial<KvOptions> = {}): Make {
	return (nats, replicas) =>
		new Kvm(nats).create(name, {
			history: 1,
			replicas,
			...republished(name),
			...options,
		});
}

async function makeRates(nats: NatsConnection, replicas: number) {
	const { streams } = await jetstreamManager(nats, { checkAPI: false });
	await streams.add({
		name: rates.stream,
		subjects: [rates.subject("*", "*")],
		allow_msg_counter: true,
		// In memory: every request writes it, and a lost count does no harm.
		storage: StorageType.Memory,
		max_msgs_per_subject: 1,
		// Longer than any window of the rate limit.
		max_age: nanos(10 * 60_000),
		max_bytes: 64 * mebibyte,
		discard: DiscardPolicy.Old,
		num_replicas: replicas,
	});
}

async function makeNotifications(nats: NatsConnection, replicas: number) {
	const { streams } = await jetstreamManager(nats, { checkAPI: false });
	await streams.add({
		name: notifications.stream,
		subjects: [notifications.subject("*")],
		retention: RetentionPolicy.Workqueue,
		discard: DiscardPolicy.New,
		// Of one namespace: its receivers may fail, and it alone waits.
		max_msgs_per_subject: 50,
		discard_new_per_subject: true,
		// Full, 160 namespaces have all they may have.
		max_bytes: 128 * mebibyte,
		max_msg_size: 16 * 1024,
		// Longer than notify tries.
		max_age: nanos(48 * hourMs),
		duplicate_window: nanos(5 * 60_000),
		num_replicas: replicas,
	});
}

/**
 * All processes of notify share it, so each order is with one of them at a time. How often an order is tried is for notify to
 * decide, and the stream bounds how many there are.
 */
async function makeConsumer(nats: NatsConnection) {
	const { consumers } = await jetstreamManager(nats, { checkAPI: false });
	await consumers.add(notifications.stream, {
		durable_name: notifications.consumer,
		ack_policy: AckPolicy.Explicit,
		ack_wait: nanos(notifications.ackWaitMs),
		max_deliver: -1,
		max_ack_pending: -1,
	});
}
