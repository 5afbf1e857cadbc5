import { jetstreamManager } from "@nats-io/jetstream";
import type {
	Msg,
	NatsConnection,
	Subscription,
} from "@nats-io/transport-node";
import type {
	ManifestAnswer,
	ManifestDate,
	ManifestQuestion,
} from "../../contracts/manifest.ts";
import { framesSubject, manifestSubject } from "../../contracts/nats.ts";
import {
	closedThrough,
	type UtcDate,
	utcDate,
} from "../../contracts/utc-date.ts";
import type { Logger } from "../../service/log.ts";
import { Alarm } from "./alarm.ts";
import { mapConcurrently } from "./concurrency.ts";
import { rowsOf } from "./ledger-index.ts";
import { manifestDates } from "./manifest-dates.ts";
import { ManifestFailure } from "./manifest-errors.ts";
import { readQuestion } from "./manifest-question.ts";
import { ManifestStore, type StoredManifest } from "./manifest-store.ts";
import type { ArchiveMetrics } from "./metrics.ts";
import type { ObjectKeys } from "./object-keys.ts";
import type { ObjectStore } from "./object-store.ts";
import type { Shard } from "./shard.ts";

/** How long a question may wait for the flush; who asks waits a minute. */
const flushTimeoutMs = 40_000;
const expirySeconds = 24 * 60 * 60;
/** Who asks gets links that live for this long at least, for a Run with its retries. */
const leastLifeMs = (expirySeconds / 2) * 1000;
const datesAtOnce = 8;

/** Answers the questions for manifests of one shard (design §5, contracts/manifest.ts). */
export class ManifestDesk {
	readonly #options: ManifestDeskOptions;
	readonly #manifests: ManifestStore;
	readonly #subscription: Subscription;
	readonly #stopping = new AbortController();

	constructor(options: ManifestDeskOptions) {
		this.#options = options;
		this.#manifests = new ManifestStore(options.store, options.keys);
		this.#subscription = options.connection.subscribe(
			manifestSubject(options.shard.number),
			{
				// Any archive of the shard can answer.
				queue: "archive",
				callback: (error, message) => {
					if (error)
						options.log.error({ err: error }, "no questions can be taken");
					else void this.#respond(message);
				},
			},
		);
	}

	/** Takes no more questions; those that wait are told to ask again. */
	close(): void {
		this.#subscription.unsubscribe();
		this.#stopping.abort(
			new ManifestFailure("ShardNotReady", "Archive is stopping"),
		);
	}

	async #respond(message: Msg): Promise<void> {
		const { log, metrics, shard } = this.#options;
		let answer: ManifestAnswer;
		try {
			const question = readQuestion(message.string());
			answer = await this.#answer(question);
			metrics.manifests.inc({ shard: shard.number });
			log.info(
				{ run: question.run, account: question.account, dates: answer.dates },
				"answered with a manifest",
			);
		} catch (error) {
			const failure =
				error instanceof ManifestFailure
					? error
					: new ManifestFailure("StoreUnavailable", reasonOf(error), {
							cause: error,
						});
			log.warn({ err: failure }, "a question got no manifest");
			answer = { ok: false, error: failure.toAnswer() };
		}
		message.respond(JSON.stringify(answer));
	}

	async #answer(question: ManifestQuestion) {
		const { store } = this.#options;
		const stored = await this.#manifestFor(question);
		const { key, manifest } = stored;
		const [first, last] = [manifest.dates[0], manifest.dates.at(-1)];
		const { snapshotTime, firstEventDate, expiresAt } = manifest;
		const leftMs = Date.parse(expiresAt) - Date.now();
		return {
			ok: true as const,
			url: await store.presign(key, Math.floor(leftMs / 1000)),
			snapshotTime,
			closedThrough: manifest.closedThrough,
			...(firstEventDate !== undefined && { firstEventDate }),
			...(first && last && { dates: { start: first.date, end: last.date } }),
			expiresAt,
		};
	}

	async #manifestFor(question: ManifestQuestion): Promise<StoredManifest> {
		const standing = await this.#manifests.newest(question.run);
		const stored = standing ?? (await this.#make(question));
		const { run, account, sourceKey, expiresAt } = stored.manifest;
		if (account !== question.account || sourceKey !== question.sourceKey)
			throw new ManifestFailure(
				"ManifestTaken",
				`The manifest of Run ${run} is of source ${sourceKey} of ${account}`,
			);
		const leftMs = Date.parse(expiresAt) - Date.now();
		return (standing && question.renew) || leftMs < leastLifeMs
			? this.#manifests.renew(stored, Date.now() + expirySeconds * 1000)
			: stored;
	}

	async #make(question: ManifestQuestion): Promise<StoredManifest> {
		const { shard } = this.#options;
		const snapshotTime = await this.#snapshot();
		const { run, account, sourceKey } = question;
		const source = shard.index.source(account, sourceKey);
		const dates = manifestDates(
			question,
			source?.firstEventDate,
			utcDate(Date.parse(snapshotTime)),
		);
		const expiresAt = Date.now() + expirySeconds * 1000;
		return this.#manifests.create({
			version: 1,
			run,
			account,
			sourceKey,
			snapshotTime,
			closedThrough: closedThrough(Date.parse(snapshotTime)),
			...(source && { firstEventDate: source.firstEventDate }),
			expiresAt: new Date(expiresAt).toISOString(),
			dates: await mapConcurrently(dates, datesAtOnce, (date) =>
				this.#date(account, sourceKey, date),
			),
		});
	}

	/**
	 * An instant by NATS's clock such that every frame acknowledged before it is archived now.
	 * The clock is read before the last sequence: in the other order, a frame could be acknowledged in between.
	 */
	async #snapshot(): Promise<string> {
		const { connection, shard } = this.#options;
		const { streams } = await jetstreamManager(connection, { checkAPI: false });
		// Asked of NATS, not of the shard: one that is still catching up is waited for.
		const subject = framesSubject(shard.number);
		const [stream] = await streams.names(subject).next();
		if (stream === undefined)
			throw new ManifestFailure("ShardNotReady", `No stream takes ${subject}`);
		const { ts } = await streams.info(stream);
		const { last_seq } = (await streams.info(stream)).state;
		const timeout = AbortSignal.timeout(flushTimeoutMs);
		try {
			await shard.flushes.wait(
				stream,
				last_seq,
				AbortSignal.any([timeout, this.#stopping.signal]),
			);
		} catch (error) {
			if (error instanceof Alarm)
				throw new ManifestFailure("ShardStopped", `${shard.notReady}`, {
					cause: error,
				});
			if (!timeout.aborted) throw error;
			throw new ManifestFailure(
				"ArchiveBusy",
				`Shard ${shard.number} wasn't archived through sequence ${last_seq} within ${flushTimeoutMs / 1000} s${shard.notReady ? ` (${shard.notReady})` : ""}`,
			);
		}
		return new Date(ts!).toISOString();
	}

	async #date(
		account: string,
		sourceKey: string,
		date: UtcDate,
	): Promise<ManifestDate> {
		const { store, keys, shard } = this.#options;
		const group = { account, sourceKey, date };
		// A copy: cuts go on meanwhile.
		const objects = [
			...(shard.index.source(account, sourceKey)?.objects.get(date) ?? []),
		];
		const bytesOf = new Map<string, number>();
		if (objects.length > 0)
			for await (const { key, bytes } of store.list(keys.eventsOfDate(group)))
				bytesOf.set(key, bytes);
		return {
			date,
			rows: rowsOf(objects),
			objects: await mapConcurrently(
				objects,
				1,
				async ({ stream, first, rows }) => {
					const key = keys.events(group, stream, first);
					const bytes = bytesOf.get(key);
					if (bytes === undefined)
						throw new ManifestFailure(
							"ObjectMissing",
							`The object ${key} with ${rows} events is not in the bucket`,
						);
					return {
						key,
						url: await store.presign(key, expirySeconds),
						rows,
						bytes,
					};
				},
			),
		};
	}
}

export interface ManifestDeskOptions {
	connection: NatsConnection;
	shard: Shard;
	store: ObjectStore;
	keys: ObjectKeys;
	metrics: ArchiveMetrics;
	log: Logger;
}

function reasonOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
