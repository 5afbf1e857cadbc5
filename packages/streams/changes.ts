// @nats-io/kv: the NATS makers' own key-value client.

import {
	jetstreamManager,
	type StoredMsg,
	type StreamAPI,
} from "@nats-io/jetstream";
import { type KV, Kvm, type KvStatus } from "@nats-io/kv";
import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { changesSubject } from "../contracts/nats.ts";
import type {
	WatchedBucket,
	WatchedEntry,
} from "../service/nats/bucket-watch.ts";
import { readStoredBatch } from "../service/nats/stored-batch.ts";
import { isInOwnAccount } from "./own-account.ts";

/** Of one batched read. The server ends a batch earlier when it gets large. */
const readAtOnce = 1_000;

/**
 * Opens a bucket to watch it. A role in an account of its own makes no consumer, because who may choose where a consumer
 * delivers can write anywhere: it reads the bucket's messages, and hears of changes as the bucket's stream republishes them.
 */
export async function openWatched(
	nats: NatsConnection,
	name: string,
): Promise<WatchedBucket> {
	const kv = await new Kvm(nats).open(name);
	if (!(await isInOwnAccount(nats))) return kv;
	return {
		status: () => kv.status(),
		watch: async () => follow(nats, kv, name),
	};
}

/** Each key's last entry, deleted ones too, in the order of their revisions. Makes no consumer. */
export async function* readEntries(
	nats: NatsConnection,
	name: string,
): AsyncGenerator<WatchedEntry> {
	for (let from = 1; ; ) {
		const messages = await readStoredBatch(nats, `KV_${name}`, {
			seq: from,
			batch: readAtOnce,
			next_by_subj: `${prefixOf(name)}>`,
		});
		for (const message of messages) yield entryOf(message, name);
		const last = messages.at(-1);
		if (!last) return;
		from = last.seq + 1;
	}
}

function follow(nats: NatsConnection, kv: KV, name: string) {
	const subscription = nats.subscribe(changesSubject(name, ">"));
	// Before anything is read, so that no change falls between.
	async function* entries(): AsyncGenerator<WatchedEntry> {
		await nats.flush();
		const { streamInfo } = await kv.status();
		const { last_seq: last } = streamInfo.state;
		let revision = 0;
		let previous: WatchedEntry | undefined;
		for await (const entry of readEntries(nats, name)) {
			if (previous) yield previous;
			previous = entry;
			revision = entry.revision;
		}
		if (revision < last) {
			await requireGone(nats, streamInfo, last);
			revision = last;
		}
		if (previous) yield { ...previous, isUpdate: true };
		for await (const message of subscription) {
			const entry = changeIn(message, name);
			if (entry.revision <= revision) continue;
			// One got lost on its way, so the bucket has to be read again.
			if (entry.revision > revision + 1) return;
			revision = entry.revision;
			yield entry;
		}
	}
	return Object.assign(entries(), { stop: () => subscription.unsubscribe() });
}

/** A server that lags gives no late entries. The stream's leader knows whether there are any. */
async function requireGone(
	nats: NatsConnection,
	{ config }: KvStatus["streamInfo"],
	seq: number,
): Promise<void> {
	const { streams } = await jetstreamManager(nats, { checkAPI: false });
	const message = await (streams as StreamAPI).getMessage(config.name, { seq });
	if (message)
		throw new Error(
			`the server that answered lacks sequence ${seq} of ${config.name}`,
		);
}

function prefixOf(name: string): string {
	return `$KV.${name}.`;
}

function entryOf(
	{ subject, seq, header, time, data }: StoredMsg,
	name: string,
): WatchedEntry {
	return {
		key: subject.slice(prefixOf(name).length),
		operation: operationOf(header?.get("KV-Operation")),
		revision: seq,
		created: time,
		isUpdate: false,
		string: () => new TextDecoder().decode(data),
	};
}

/** ADR-31's headers of a republished message. */
function changeIn(message: Msg, name: string): WatchedEntry {
	const { headers, subject } = message;
	return {
		key: subject.slice(changesSubject(name, "").length),
		operation: operationOf(headers?.get("KV-Operation")),
		revision: Number(headers?.get("Nats-Sequence")),
		created: new Date(headers?.get("Nats-Time-Stamp") ?? ""),
		isUpdate: true,
		string: () => message.string(),
	};
}

function operationOf(text: string | undefined): WatchedEntry["operation"] {
	return text === "DEL" || text === "PURGE" ? text : "PUT";
}
