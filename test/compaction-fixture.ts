import { randomUUID } from "node:crypto";
import { rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { onTestFinished } from "vitest";
import type { Manifest } from "../contracts/manifest.ts";
import { dayMs, type UtcDate, utcDate } from "../contracts/utc-date.ts";
import { CompactionStore } from "../ingest/archive/compaction/compaction-store.ts";
import {
	Compactor,
	type CompactorOptions,
} from "../ingest/archive/compaction/compactor.ts";
import type { DueDate } from "../ingest/archive/compaction/due-dates.ts";
import { outputName } from "../ingest/archive/compaction/record.ts";
import { Tombstones } from "../ingest/archive/deletion/tombstones.ts";
import { ArchiveMetrics } from "../ingest/archive/metrics.ts";
import type {
	FileStore,
	ObjectStore,
} from "../ingest/archive/store/object-store.ts";
import {
	ArchiveFixture,
	log,
	newEvent,
	type RunningArchive,
} from "./archive-fixture.ts";
import type { Servers } from "./archive-servers.ts";
import { readArchivedRows } from "./archived-rows.ts";

type Store = ObjectStore & FileStore;

/** A date that can get no more events, also when the test runs just after midnight. */
export const closedMs = Date.now() - 2 * dayMs;
export const closedDate = utcDate(closedMs);

/** An archive with one source's closed date in many objects, and what compacts it. */
export class CompactionFixture {
	readonly archive: ArchiveFixture;
	readonly running: RunningArchive;
	/** Bodies of the date's events, sorted. */
	readonly bodies: string[] = [];
	readonly signal = new AbortController().signal;
	readonly registry = new Registry();
	readonly #metrics = new ArchiveMetrics(
		this.registry,
		() => [],
		async () => [],
	);

	readonly #date: UtcDate;
	readonly #scratch = join(tmpdir(), `tidemill-test-${randomUUID()}`);

	/** Of what the archive holds of a date. */
	constructor(
		archive: ArchiveFixture,
		running: RunningArchive,
		date: UtcDate = closedDate,
	) {
		this.archive = archive;
		this.running = running;
		this.#date = date;
		onTestFinished(() => rm(this.#scratch, { recursive: true, force: true }));
	}

	/** With so many objects of three events each, whose times are woven into each other. */
	static async open(servers: Servers, cuts = 12): Promise<CompactionFixture> {
		const archive = await ArchiveFixture.open(servers);
		// Each frame becomes a cut of its own.
		const running = await archive.start({ maxBytes: 1 });
		const fixture = new CompactionFixture(archive, running);
		for (let cut = 0; cut < cuts; cut++)
			await fixture.publish(...[0, 1500, 3000].map((ms) => cut * 1000 + ms));
		await running.flush();
		return fixture;
	}

	/** One frame of events of the date, so many milliseconds after its first. */
	async publish(...afterMs: number[]): Promise<void> {
		const { sourceKey } = this.archive;
		const start = Math.floor(closedMs / dayMs) * dayMs;
		const events = afterMs.map((ms) =>
			newEvent(JSON.stringify(randomUUID()), {
				sourceKey,
				receivedAtMs: start + ms,
				headers: ms % 2000 === 0 ? '{"x-a":"ü"}' : "",
			}),
		);
		await this.archive.publish(events);
		this.bodies.push(...events.map(({ body }) => Buffer.from(body).toString()));
		this.bodies.sort();
	}

	compactor(
		options: Partial<CompactorOptions> & {
			wrapStore?: (store: Store) => Store;
		} = {},
	): Compactor {
		const { store, keys } = this.archive;
		return new Compactor({
			store: options.wrapStore?.(store) ?? store,
			keys,
			shards: [this.running.shard],
			minObjects: 2,
			intervalMs: 600_000,
			maxLagSeconds: 60,
			scratch: this.#scratch,
			tombstones: new Tombstones(store, keys),
			metrics: this.#metrics,
			log,
			...options,
		});
	}

	/** The date with all objects that the archive knows, or the first few. */
	due = (count?: number): DueDate => {
		const { sourceKey } = this.archive;
		const source = this.running.shard.index.source("shop", sourceKey)!;
		const date = this.#date;
		const objects = source.objects.get(date)!.slice(0, count);
		return { account: "shop", sourceKey, date, objects };
	};

	/** Where the object stands that replaces all of the date's. */
	outputKey = (): string => {
		const { keys } = this.archive;
		const folder = keys.eventsOfDate(this.due());
		const names = this.due().objects.map(({ stream, first }) =>
			keys.events(this.due(), stream, first).slice(folder.length),
		);
		return folder + outputName(names);
	};

	/** As if the store had taken the date's record so long ago. */
	async recordedDaysAgo(days: number): Promise<void> {
		const { servers, keys } = this.archive;
		const file = join(servers.s3.bucketDirectory, keys.compaction(this.due()));
		const seconds = (Date.now() - days * dayMs) / 1000;
		await utimes(file, seconds, seconds).catch(() => undefined);
	}

	record() {
		const { store, keys } = this.archive;
		return new CompactionStore(store, keys).of(this.due());
	}

	/** Names in the date's folder. */
	async names(): Promise<string[]> {
		const { store, keys } = this.archive;
		const folder = keys.eventsOfDate(this.due());
		const names: string[] = [];
		for await (const { key } of store.list(folder))
			names.push(key.slice(folder.length));
		return names;
	}

	/** A new Run's manifest, or again that of one. */
	async manifest(run: string = randomUUID(), more: object = {}) {
		const { archive } = this;
		const { sourceKey } = archive;
		const question = { run, account: "shop", sourceKey, ...more };
		const answer = await archive.ask(question);
		if (!answer.ok) throw new Error(answer.error.message);
		return (await (await fetch(answer.url)).json()) as Manifest;
	}
}

/** The closed date as a manifest has it. */
export function dateOf({ dates }: Manifest, date: UtcDate = closedDate) {
	return dates.find((each) => each.date === date)!;
}

/** Bodies of all that a Run with this manifest would load of the date, sorted. Throws when a link doesn't work. */
export async function loadedBodies(manifest: Manifest): Promise<string[]> {
	const bodies: string[] = [];
	for (const { key, url } of dateOf(manifest).objects) {
		const response = await fetch(url);
		if (!response.ok) throw new Error(`${response.status} for ${key}`);
		const bytes = Buffer.from(await response.arrayBuffer());
		bodies.push(...(await readArchivedRows(bytes)).map(({ body }) => body));
	}
	return bodies.sort();
}

/** What a compactor does with the store. */
export type Step = "getFile" | "putNewFile" | "putNew" | "remove";
const steps: readonly string[] = ["getFile", "putNewFile", "putNew", "remove"];

/** A store that calls `at` before and after each of these steps, with the number of such steps begun. */
export function watched(
	store: Store,
	at: (when: "before" | "after", step: Step, count: number) => Promise<void>,
): Store {
	const counts = new Map<string, number>();
	return new Proxy(store, {
		get(target, property) {
			const value = Reflect.get(target, property, target);
			if (typeof value !== "function") return value;
			if (!steps.includes(String(property))) return value.bind(target);
			const step = property as Step;
			return async (...args: unknown[]) => {
				const count = (counts.get(step) ?? 0) + 1;
				counts.set(step, count);
				await at("before", step, count);
				const result = await value.apply(target, args);
				await at("after", step, count);
				return result;
			};
		},
	});
}
