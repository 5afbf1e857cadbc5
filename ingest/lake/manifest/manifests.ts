import type {
	ManifestAnswer,
	ManifestRequest,
} from "../../../packages/contracts/manifest.ts";
import { keptFrom } from "../../../packages/contracts/retention.ts";
import {
	closedThrough,
	isOfFuture,
	type UtcDate,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import {
	mapConcurrently,
	mapInOrder,
} from "../../../packages/fair/fair-limit.ts";
import { linkErrorId } from "../../../packages/service/log.ts";
import type { UncutFiles } from "../../archive/read/uncut-work.ts";
import {
	AdditionStore,
	type DateAdditions,
} from "../addition/addition-store.ts";
import {
	areKept,
	beforeEarly,
	contentsText,
	cutsBeforeEarly,
	type ManifestContents,
	readContents,
} from "../early/early-objects.ts";
import { EarlyRequests } from "../early/early-requests.ts";
import { ErasureStore } from "../erasure/erasure-store.ts";
import type { LakeContext } from "../request/context.ts";
import type { LakeShard, StreamEnd } from "../request/lake-shard.ts";
import {
	requireOperatorsClock,
	requireSameClocks,
	requireUndeleted,
} from "../request/requirements.ts";
import type { Answers, RequestTask } from "../request/responder.ts";
import {
	cutsOf,
	datesSince,
	flushShares,
	objectsIn,
	type ShardShare,
} from "../request/shares.ts";
import { DateLedgers } from "../retention/date-ledgers.ts";
import { RetentionStore } from "../retention/source-retention.ts";
import {
	addedSince,
	countAdditions,
	manifestDates,
	perhapsAdded,
	withRecords,
} from "./manifest-dates.ts";
import { ManifestObjects, withLost } from "./manifest-objects.ts";
import {
	ManifestStore,
	requireOwner,
	type SignedManifest,
	type UnsignedManifest,
} from "./manifest-store.ts";
import { Uploads } from "./uploads.ts";

/**
 * The longest life of links, whatever a Run may still take: compaction keeps what they lead to for an hour more. A Run gets
 * links that live for at least half of what it needs, or half of what the credentials allow.
 */
const maxLinkSeconds = 24 * 60 * 60;
const datesAtOnce = 8;

/** Answers operator's requests for manifests of one shard (packages/contracts/manifest.ts). */
export function answerManifests(
	context: LakeContext,
	shard: LakeShard,
): Answers["manifest"] {
	const manifests = new Manifests(context, shard);
	return (request, task) => manifests.give(request, task);
}

class Manifests {
	readonly #context: LakeContext;
	readonly #shard: LakeShard;
	readonly #early: EarlyRequests;
	readonly #objects: ManifestObjects;
	readonly #manifests: ManifestStore;
	readonly #releases: AdditionStore;
	readonly #erasures: ErasureStore;
	readonly #retentions: RetentionStore;
	readonly #dateLedgers: DateLedgers;
	readonly #uploads: Uploads;

	constructor(context: LakeContext, shard: LakeShard) {
		this.#context = context;
		this.#shard = shard;
		const { store } = context;
		this.#early = new EarlyRequests(shard);
		this.#objects = new ManifestObjects(context);
		this.#releases = new AdditionStore(store);
		this.#erasures = new ErasureStore(store);
		this.#retentions = new RetentionStore(store);
		this.#dateLedgers = new DateLedgers(store);
		this.#uploads = new Uploads(store);
		this.#manifests = new ManifestStore(context, this.#objects);
	}

	async give(
		request: ManifestRequest,
		task: RequestTask,
	): Promise<ManifestAnswer> {
		const { log, metrics } = this.#context;
		const { run, account, sourceKey, askedAt } = request;
		requireOperatorsClock(askedAt, Date.now());
		const answer = await this.#answer(request, task);
		metrics.manifests.inc({ shard: this.#shard.number });
		log.info(
			{
				run,
				account,
				sourceKey,
				dates: answer.dates,
				// A Job that can't reach the store quotes the id: its people may not read the address.
				errorId: linkErrorId(answer.url),
				links: answer.url.replace(/\?.*/, ""),
			},
			"gave a manifest",
		);
		return answer;
	}

	async #answer(request: ManifestRequest, task: RequestTask) {
		const { store } = this.#context;
		const authorities = this.#context.authorities();
		const signed = await this.#manifestFor(request, task);
		const { key, manifest, named } = signed;
		const { dates, rows, objects, bytes } = named;
		const [first, last] = [dates[0], dates.at(-1)];
		const { snapshotTime, firstEventDate, expiresAt } = manifest;
		const leftMs = Date.parse(expiresAt) - Date.now();
		return {
			ok: true as const,
			url: await store.presign(key, Math.floor(leftMs / 1000)),
			snapshotTime,
			closedThrough: manifest.closedThrough,
			extent: manifest.asked.extent,
			...(firstEventDate !== undefined && { firstEventDate }),
			...(first && last && { dates: { start: first, end: last } }),
			dateCount: dates.length,
			expiresAt,
			...(request.totals && { totals: { rows, objects, bytes } }),
			...(authorities !== undefined && { authorities }),
		};
	}

	async #manifestFor(
		request: ManifestRequest,
		task: RequestTask,
	): Promise<SignedManifest> {
		const newest = await this.#manifests.newest(request.run);
		const isEnough =
			(request.extent !== "Whole" ||
				newest?.manifest.asked.extent === "Whole") &&
			newest &&
			!isOfFuture(Date.parse(newest.manifest.snapshotTime), Date.now());
		const existing = isEnough ? newest : undefined;
		if (existing) await this.#erasures.requireNoneSince(existing.manifest);
		const signed = existing ?? (await this.#make(request, newest, task));
		requireUndeleted(this.#context.tombstones, request);
		requireOwner(signed, request);
		const { expiresAt } = signed.manifest;
		const lifeMs = (await this.#linkSeconds(request)) * 1000;
		const leftMs = Date.parse(expiresAt) - Date.now();
		return (existing && request.renew) || leftMs < lifeMs / 2
			? this.#manifests.renew(signed, Date.now() + lifeMs)
			: signed;
	}

	async #make(
		request: ManifestRequest,
		former: SignedManifest | undefined,
		task: RequestTask,
	): Promise<SignedManifest> {
		const { run, account, sourceKey, extent, start, end, releases } = request;
		const { store } = this.#context;
		// An Operation reads what is in the lake, and quarantine has no early objects.
		const mayReadEarly = !request.report && !request.quarantine;
		let early = undefined as UncutFiles | undefined;
		const flushOrRead = async (end: StreamEnd) => {
			early = await this.#early.flushOrRead(this.#shard, request, task, end);
		};
		const flushed = await flushShares(
			this.#shard,
			request,
			task,
			mayReadEarly ? flushOrRead : undefined,
		);
		requireSameClocks(flushed, "a snapshot by it may lack a day");
		const { time: snapshotTime, shares } = flushed;
		requireUndeleted(this.#context.tombstones, request);
		const ownEarly = early
			? await this.#objects.early.write({ account, sourceKey }, early)
			: [];
		const cuts = cutsBeforeEarly(early, cutsOf(shares));
		const { follows } = request;
		// A person waits, and each is a request or two to the store.
		const [, followed, released, erased, retention] = await Promise.all([
			this.#manifests.noteContents(
				run,
				contentsText({ cuts, early: ownEarly }),
			),
			follows && this.#contentsOf(follows.run),
			this.#releases.ofSource(request),
			this.#erasures.ofSource(request),
			this.#retentions.of(request),
		]);
		const changes = withRecords(released, erased?.dates);
		const also = await this.#changedSince(request, changes, shares);
		const snapshotDate = utcDate(Date.parse(snapshotTime));
		// An index without a snapshot knows only the cuts of a month.
		const [earliest] = retention
			? await this.#dateLedgers.datesOf(request)
			: [];
		const firstEventDate = [
			earliest,
			...shares.map((share) => share.firstEventDate),
			...ownEarly.map(({ date }) => date),
			...released.keys(),
		]
			.filter((date) => date !== undefined)
			.sort()[0];
		const dates = manifestDates(
			{ ...request, also },
			firstEventDate,
			keptFrom(retention?.record, snapshotDate),
			snapshotDate,
		);
		const indexedFrom = keptFrom(undefined, snapshotDate);
		const linkSeconds = await this.#linkSeconds(request);
		const expiresAt = Date.now() + linkSeconds * 1000;
		const earlyBefore =
			follows && areKept(Date.parse(follows.since), Date.now())
				? (followed?.early ?? []).filter(({ key }) =>
						key.startsWith(store.keys.earlyOfSource(request)),
					)
				: [];
		const manifest: UnsignedManifest = {
			version: 1,
			run,
			account,
			sourceKey,
			snapshotTime,
			closedThrough: closedThrough(Date.parse(snapshotTime)),
			...(firstEventDate !== undefined && { firstEventDate }),
			expiresAt: new Date(expiresAt).toISOString(),
			asked: {
				extent,
				...(start !== undefined && { start }),
				...(end !== undefined && { end }),
				...(releases && { since: releases.since }),
			},
			releases: countAdditions(changes),
			...(erased && {
				erasures: await this.#erasures.inManifest(erased, releases?.since),
			}),
			...(request.report && { report: true }),
			...(request.imports && {
				imports: await this.#uploads.require(account, request.imports),
			}),
			dates: mapInOrder(dates, datesAtOnce, async (date) => {
				const folder = { account, sourceKey, date };
				const ledger =
					date >= indexedFrom
						? {
								objects: () =>
									beforeEarly(early, objectsIn(shares, "objects", date)),
								quarantined: () => objectsIn(shares, "quarantined", date),
							}
						: await this.#dateLedgers.require(folder);
				const day = await this.#objects.early.withEarly(
					await this.#objects.ofDate(folder, ledger.objects, linkSeconds),
					ownEarly,
					earlyBefore,
					linkSeconds,
				);
				// An Operation reads what was released in quarantine, where it still is.
				const readsQuarantine = request.report && !request.imports;
				const added = await this.#objects.withAdded(
					day,
					released.get(date),
					linkSeconds,
					readsQuarantine ? "imported" : undefined,
				);
				const counted = await this.#erasures.withErased(
					{ account, sourceKey },
					added,
					erased,
					this.#context.replaced,
				);
				if (!readsQuarantine && !request.quarantine) return counted;
				const { rows, objects, lost } = await this.#objects.ofDate(
					{ ...folder, quarantined: true },
					ledger.quarantined,
					linkSeconds,
				);
				const whole = withLost(counted, lost);
				if (rows === 0) return whole;
				const { objects: releasedObjects } = request.released
					? await this.#objects.released(released.get(date), linkSeconds)
					: { objects: [] };
				return {
					...whole,
					quarantine: {
						rows,
						objects,
						...(releasedObjects.length > 0 && { released: releasedObjects }),
					},
				};
			}),
		};
		return this.#manifests.create(manifest, former);
	}

	/**
	 * The dates that a Run loads again, although its table is complete through them: they got releases or imports, or events because a
	 * clock was behind, NATS's and receive's, or NATS held a frame back.
	 */
	async #changedSince(
		{ account, sourceKey, start, releases }: ManifestRequest,
		released: ReadonlyMap<UtcDate, DateAdditions>,
		shares: readonly ShardShare[],
	): Promise<UtcDate[]> {
		if (start === undefined || !releases) return [];
		const { earliest, run, reloads = [] } = releases;
		const uids = [...(run === undefined ? [] : [run]), ...reloads];
		const runs = await mapConcurrently(uids, datesAtOnce, async (uid) => {
			const former = await this.#manifests.newest(uid);
			const isOfSource =
				former?.manifest.account === account &&
				former.manifest.sourceKey === sourceKey;
			return {
				...(isOfSource && former),
				cuts: (await this.#contentsOf(uid))?.cuts,
			};
		});
		const perhaps = perhapsAdded({ ...releases, start }, released);
		const [whole] = run === undefined ? [] : runs;
		const late = whole?.cuts ? datesSince(whole.cuts, shares) : [];
		const loaded = runs.slice(run === undefined ? 0 : 1).reverse();
		const isChanged = (date: UtcDate, how: "released" | "late") => {
			const reload = loaded.find(({ named }) => named?.dates.includes(date));
			const last = reload ?? whole;
			// A manifest goes after a month, and those of 0.1 say nothing.
			if (how === "released") {
				const counted = last?.manifest?.releases;
				return !counted || addedSince([date], released, counted).length > 0;
			}
			return !reload?.cuts || datesSince(reload.cuts, shares).includes(date);
		};
		return [
			...perhaps.filter((date) => isChanged(date, "released")),
			...late
				.filter((date) => date >= earliest && date < start)
				.filter((date) => isChanged(date, "late")),
		];
	}

	async #contentsOf(run: string): Promise<ManifestContents | undefined> {
		const text = await this.#manifests.contentsOf(run);
		return text === undefined ? undefined : readContents(text);
	}

	#linkSeconds({ linkSeconds }: ManifestRequest): Promise<number> {
		const wanted = Math.min(linkSeconds ?? maxLinkSeconds, maxLinkSeconds);
		return this.#context.store.linkSeconds(wanted);
	}
}
