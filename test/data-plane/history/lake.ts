import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import type { NatsConnection } from "@nats-io/transport-node";
import pino from "pino";
import { DateObjects } from "../../../ingest/archive/ledger/date-objects.ts";
import {
	type AdditionRecord,
	AdditionStore,
} from "../../../ingest/lake/addition/addition-store.ts";
import { CompactionStore } from "../../../ingest/lake/compaction/record.ts";
import { ErasureStore } from "../../../ingest/lake/erasure/erasure-store.ts";
import { answerManifests } from "../../../ingest/lake/manifest/manifests.ts";
import type { LakeContext } from "../../../ingest/lake/request/context.ts";
import type { LakeShard } from "../../../ingest/lake/request/lake-shard.ts";
import { outputName } from "../../../ingest/wire/object-name.ts";
import type {
	Manifest,
	ManifestRequest,
} from "../../../packages/contracts/manifest.ts";
import { type UtcDate, utcDate } from "../../../packages/contracts/utc-date.ts";
import type { ObjectServer } from "../../support/doubles/object-server.ts";
import {
	type ObjectEvent,
	parquetObject,
} from "../../support/examples/parquet-object.ts";
import { DatedStore } from "./dated-store.ts";

export const account = "shop";
const stream = "tidemill-frames-0-0123456789abcdef";

/** What the lake has of one Source, as the table should have it: each event by its id. */
export type StoredEvents = Map<UtcDate, Map<string, ObjectEvent>>;

interface LakeSource {
	firstEventDate: UtcDate;
	objects: Map<UtcDate, DateObjects>;
	quarantined: Map<UtcDate, DateObjects>;
}

/**
 * The lake's own answers to requests for manifests, over a bucket in memory and a clock that the test moves. Instead of archive,
 * the test puts objects and records of imports there.
 */
export class HistoryLake {
	nowMs: number;
	/** How far the store's clock is from NATS's. */
	skewMs = 0;
	readonly #store: DatedStore;
	readonly #releases: AdditionStore;
	readonly #sources = new Map<string, LakeSource>();
	readonly #compactions: CompactionStore;
	readonly #events = new Map<string, StoredEvents>();
	readonly #apart = new Map<string, StoredEvents>();
	readonly #ask: (request: ManifestRequest) => Promise<string>;
	/** By sequence. */
	readonly #objects = new Map<number, ObjectEvent[]>();
	readonly #compacted = new Set<string>();
	#sequence = 0;

	constructor(server: ObjectServer, nowMs: number) {
		this.nowMs = nowMs;
		this.#store = new DatedStore(server, () => this.nowMs + this.skewMs);
		this.#releases = new AdditionStore(this.#store);
		this.#compactions = new CompactionStore(this.#store);
		const context = {
			store: this.#store,
			tombstones: { has: () => false },
			replaced: this.#compactions,
			counted: new ErasureStore(this.#store),
			metrics: { manifests: { inc: () => undefined } },
			authorities: () => undefined,
			log: pino({ level: "silent" }),
			scratch: tmpdir(),
		} as unknown as LakeContext;
		const giveManifest = answerManifests(context, this.#shard());
		const task = {
			stopping: new AbortController().signal,
			progress: undefined,
		};
		this.#ask = async (request) => {
			const answer = await giveManifest(request, task);
			return (answer as { url: string }).url;
		};
	}

	get today(): UtcDate {
		return utcDate(this.nowMs);
	}

	eventsOf(sourceKey: string): StoredEvents {
		return eventsIn(this.#events, sourceKey);
	}

	/** Those in quarantine that weren't released. */
	quarantinedOf(sourceKey: string): StoredEvents {
		return eventsIn(this.#apart, sourceKey);
	}

	/** Events that came on a date, as one object. */
	async receive(
		sourceKey: string,
		date: UtcDate,
		events: ObjectEvent[],
		quarantined?: true,
	) {
		const first = ++this.#sequence;
		const folder = {
			...{ account, sourceKey, date },
			...(quarantined && { quarantined }),
		};
		const bytes = await parquetObject(date, events);
		await this.#store.putNew(
			this.#store.keys.events(folder, stream, first),
			bytes,
		);
		const source = this.#sources.get(sourceKey) ?? {
			firstEventDate: date,
			objects: new Map(),
			quarantined: new Map(),
		};
		this.#sources.set(sourceKey, source);
		if (date < source.firstEventDate) source.firstEventDate = date;
		const dates = quarantined ? source.quarantined : source.objects;
		const objects = dates.get(date) ?? new DateObjects();
		dates.set(date, objects);
		objects.add({ stream, first, rows: events.length });
		this.#objects.set(first, events);
		const known = quarantined
			? this.quarantinedOf(sourceKey)
			: this.eventsOf(sourceKey);
		remember(known, date, events);
	}

	/** Events of an Import: a record beside the date's objects. */
	async add(sourceKey: string, date: UtcDate, events: ObjectEvent[]) {
		await this.#decide(sourceKey, date, events, {
			...{ stream: "import", imported: true },
		});
	}

	/** These events of a date go from quarantine to the others. */
	async release(sourceKey: string, date: UtcDate, events: ObjectEvent[]) {
		await this.#decide(sourceKey, date, events, { stream });
		const apart = this.quarantinedOf(sourceKey).get(date)!;
		for (const { event_id } of events) apart.delete(event_id);
	}

	async #decide(
		sourceKey: string,
		date: UtcDate,
		events: ObjectEvent[],
		how: Pick<AdditionRecord, "stream" | "imported">,
	) {
		const folder = { account, sourceKey, date };
		const number = (await this.#releases.listed(folder)).length + 1;
		const bytes = await parquetObject(date, events);
		const key = this.#store.keys.addedObject(folder, number, randomUUID());
		await this.#store.putNew(key, bytes);
		await this.#releases.decide(number, {
			version: 1,
			...folder,
			operation: randomUUID(),
			...{ first: 1, last: this.#sequence },
			key,
			...{ rows: events.length, bytes: bytes.length },
			...how,
		});
		remember(this.eventsOf(sourceKey), date, events);
	}

	/** The closed dates that compaction may still merge. */
	compactable(sourceKey: string): UtcDate[] {
		const { objects = new Map<UtcDate, DateObjects>() } =
			this.#sources.get(sourceKey) ?? {};
		return [...objects]
			.filter(([date, of]) => date < this.today && [...of].length > 1)
			.map(([date]) => date)
			.filter((date) => !this.#compacted.has(`${sourceKey} ${date}`));
	}

	/** One object takes the place of the date's, which are gone then. */
	async compact(sourceKey: string, date: UtcDate): Promise<void> {
		this.#compacted.add(`${sourceKey} ${date}`);
		const folder = { account, sourceKey, date };
		const objects = [...this.#sources.get(sourceKey)!.objects.get(date)!];
		const keys = objects.map((each) =>
			this.#store.keys.events(folder, each.stream, each.first),
		);
		const inputs = keys.map((key) => key.slice(key.lastIndexOf("/") + 1));
		const name = outputName(inputs);
		const events = objects.flatMap(
			({ first }) => this.#objects.get(first) ?? [],
		);
		const bytes = await parquetObject(date, events);
		await this.#store.putNew(
			this.#store.keys.eventsOfDate(folder) + name,
			bytes,
		);
		const size = { rows: events.length, bytes: bytes.length, sha256: "" };
		const outputs = [{ name, ...size, inputs }];
		await this.#compactions.decide({ version: 1, ...folder, outputs });
		await this.#store.remove(keys);
	}

	/** The manifest of a Run, without the links for what its Job leaves. */
	async manifest(request: ManifestRequest): Promise<Manifest> {
		const url = await this.#ask(request);
		const response = await fetch(url);
		const { result, logs, ...manifest } = (await response.json()) as Manifest;
		return manifest;
	}

	#shard(): LakeShard {
		return {
			number: 0,
			connection: withoutBuckets,
			index: {
				source: (_: string, sourceKey: string) => this.#sources.get(sourceKey),
			},
			end: async () => ({
				time: new Date(this.nowMs).toISOString(),
				clockFault: undefined,
			}),
			flush: async () => undefined,
			workBetweenCuts: (work: { stop(): void }) => {
				work.stop();
				return () => undefined;
			},
		} as unknown as LakeShard;
	}
}

function eventsIn(
	all: Map<string, StoredEvents>,
	sourceKey: string,
): StoredEvents {
	const known = all.get(sourceKey) ?? new Map();
	all.set(sourceKey, known);
	return known;
}

function remember(dates: StoredEvents, date: UtcDate, events: ObjectEvent[]) {
	const known = dates.get(date) ?? new Map();
	dates.set(date, known);
	for (const event of events) known.set(event.event_id, event);
}

/** A NATS server in which the operator has made no bucket yet (docs.nats.io, JetStream API: error 10059). */
const withoutBuckets = {
	options: {},
	request: async () => {
		const text = JSON.stringify({
			error: { code: 404, err_code: 10059, description: "stream not found" },
		});
		return { data: Buffer.from(text), json: () => JSON.parse(text) };
	},
} as unknown as NatsConnection;
