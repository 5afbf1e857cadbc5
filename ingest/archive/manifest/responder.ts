import type { NatsConnection } from "@nats-io/transport-node";
import type {
	ManifestAnswer,
	ManifestQuestion,
} from "../../../contracts/manifest.ts";
import { manifestSubject } from "../../../contracts/nats.ts";
import { closedThrough, utcDate } from "../../../contracts/utc-date.ts";
import type { Logger } from "../../../service/log.ts";
import { mapConcurrently } from "../concurrency/map-concurrently.ts";
import type { LedgerIndex } from "../ledger/ledger-index.ts";
import type { ArchiveMetrics } from "../metrics/archive-metrics.ts";
import { RequestFailure } from "../request/errors.ts";
import { type FlushableShard, flushAll } from "../request/flush-all.ts";
import { readManifestRequest } from "../request/request.ts";
import { Responder } from "../request/responder.ts";
import type { ObjectKeys } from "../s3/object-keys.ts";
import type { ObjectStore } from "../s3/object-store.ts";
import type { Tombstones } from "../write/tombstones.ts";
import { manifestDates } from "./manifest-dates.ts";
import { ManifestObjects } from "./manifest-objects.ts";
import { ManifestStore, type StoredManifest } from "./manifest-store.ts";

/** Who asks gets links that live for half of this at least, or of what the credentials allow: for a Run with its retries. */
const expirySeconds = 24 * 60 * 60;
const datesAtOnce = 8;

/** Answers the questions for manifests of one shard (design §5, contracts/manifest.ts). */
export class ManifestResponder {
	readonly #options: ManifestResponderOptions;
	readonly #objects: ManifestObjects;
	readonly #manifests: ManifestStore;
	readonly #responder: Responder;

	constructor(options: ManifestResponderOptions) {
		this.#options = options;
		const { store, keys } = options;
		this.#objects = new ManifestObjects(store, keys);
		this.#manifests = new ManifestStore(store, keys, this.#objects);
		this.#responder = new Responder({
			connection: options.connection,
			subject: manifestSubject(options.shard.number),
			log: options.log,
			answer: (text, stopping) => this.#respond(text, stopping),
		});
	}

	/** Takes no more questions; those that wait are told to ask again. */
	close(): void {
		this.#responder.close();
	}

	async #respond(text: string, stopping: AbortSignal): Promise<ManifestAnswer> {
		const { log, metrics, shard } = this.#options;
		const question = readManifestRequest(text);
		const { run, account } = question;
		const answer = await this.#answer(question, stopping);
		metrics.manifests.inc({ shard: shard.number });
		log.info({ run, account, dates: answer.dates }, "answered with a manifest");
		return answer;
	}

	async #answer(question: ManifestQuestion, stopping: AbortSignal) {
		const { store, authorities } = this.#options;
		const stored = await this.#manifestFor(question, stopping);
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
			...(authorities !== undefined && { authorities }),
		};
	}

	async #manifestFor(
		question: ManifestQuestion,
		stopping: AbortSignal,
	): Promise<StoredManifest> {
		const standing = await this.#manifests.newest(question.run);
		const stored = standing ?? (await this.#make(question, stopping));
		if (this.#options.tombstones.has(question))
			throw new RequestFailure(
				"SourceDeleted",
				`The events of source ${question.sourceKey} of ${question.account} are deleted`,
			);
		const { run, account, sourceKey, expiresAt } = stored.manifest;
		if (account !== question.account || sourceKey !== question.sourceKey)
			throw new RequestFailure(
				"ManifestTaken",
				`The manifest of Run ${run} is of source ${sourceKey} of ${account}`,
			);
		const lifeMs = await this.#linkLifeMs();
		const leftMs = Date.parse(expiresAt) - Date.now();
		return (standing && question.renew) || leftMs < lifeMs / 2
			? this.#manifests.renew(stored, Date.now() + lifeMs)
			: stored;
	}

	async #make(
		question: ManifestQuestion,
		stopping: AbortSignal,
	): Promise<StoredManifest> {
		const { connection, shard } = this.#options;
		const snapshotTime = await flushAll(connection, shard, stopping);
		const { run, account, sourceKey } = question;
		const source = shard.index.source(account, sourceKey);
		const dates = manifestDates(
			question,
			source?.firstEventDate,
			utcDate(Date.parse(snapshotTime)),
		);
		const expiresAt = Date.now() + (await this.#linkLifeMs());
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
				this.#objects.ofDate(
					{ account, sourceKey, date },
					() => source?.objects.get(date) ?? [],
					expirySeconds,
				),
			),
		});
	}

	async #linkLifeMs(): Promise<number> {
		return (await this.#options.store.linkSeconds(expirySeconds)) * 1000;
	}
}

export interface ManifestResponderOptions {
	connection: NatsConnection;
	shard: FlushableShard & { readonly index: LedgerIndex };
	store: ObjectStore;
	keys: ObjectKeys;
	tombstones: Tombstones;
	metrics: ArchiveMetrics;
	/** PEM certificates that a Run's Job needs to trust the store. */
	authorities?: string;
	log: Logger;
}
