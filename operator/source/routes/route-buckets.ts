import { isDeepStrictEqual } from "node:util";
import { jetstreamManager } from "@nats-io/jetstream";
// @nats-io/kv: the NATS makers' own key-value API.
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../../packages/contracts/nats.ts";
import {
	type Route,
	routeKey,
	type SyncedMark,
	syncedKey,
	unitedShards,
} from "../../../packages/contracts/route.ts";
import {
	planKey,
	type RoutePlan,
} from "../../../packages/contracts/tracking-plan.ts";
import {
	mapConcurrently,
	oneAtATime,
} from "../../../packages/fair/fair-limit.ts";
import { type Logger, withhold } from "../../../packages/service/log.ts";
import {
	BucketWatch,
	type WatchedBucket,
} from "../../../packages/service/nats/bucket-watch.ts";
import { isConflict } from "../../../packages/service/nats/connection.ts";
import { within } from "../../../packages/service/pause.ts";
import { openWatched } from "../../../packages/streams/changes.ts";
import {
	haveMade,
	NoArchive,
	streamOf,
} from "../../../packages/streams/made-streams.ts";
import { decide } from "./decide.ts";
import { RouteEntries } from "./entries.ts";
import { KeyOwners } from "./key-owners.ts";

type MarkOf = (found: SyncedMark | undefined) => Promise<SyncedMark>;

const readTimeoutMs = 30_000;
/** Thousands of changes neither wait for each answer in turn nor flood the connection. */
const atOnce = 64;

/**
 * The buckets of routes and of source keys in NATS, and their only writer. Memory has all that was read and written, so
 * lookups work while NATS is away. Each write names the revision that it replaces: NATS refuses one that a frozen former
 * leader sent.
 */
export class RouteBuckets {
	readonly #nats: NatsConnection;
	readonly #replicas: number;
	readonly #log: Logger;
	#bucket: KV | undefined;
	#stale = true;
	readonly #entries = new RouteEntries(() => this.#drifted());
	readonly #watch: BucketWatch;
	readonly #moves: BucketWatch;
	readonly #owners = new KeyOwners();
	#lastError: string | undefined;
	/** Whether Sources know of the routes that were there when this process began. */
	#hasPublished = false;
	/** A route that was planned before its key went out of use must not be put afterwards. */
	readonly #inTurn = oneAtATime();
	readonly #handlers: ((route: Route) => void)[] = [];
	readonly #driftHandlers: (() => void)[] = [];

	constructor(
		nats: NatsConnection,
		options: { replicas: number; log: Logger },
	) {
		this.#nats = nats;
		this.#replicas = options.replicas;
		this.#log = options.log;
		this.#watch = new BucketWatch(
			() => this.#watched(bucket.routes),
			this.#entries,
			options.log,
		);
		this.#moves = new BucketWatch(
			() => this.#watched(bucket.sourceKeys),
			{
				set: (key, text) => {
					if (text === undefined || !this.#owners.isNews(key, text)) return;
					this.forget();
					this.#drifted();
				},
			},
			options.log,
		);
	}

	/** Follows both buckets until the signal. Never throws. */
	async run(signal: AbortSignal): Promise<void> {
		await Promise.all([this.#watch.run(signal), this.#moves.run(signal)]);
	}

	/** The receivers' route for this source key, as last read or written. */
	published(sourceKey: string): Route | undefined {
		return this.#entries.get(routeKey(sourceKey));
	}

	/** The plans of an account's routes. */
	*plansOf(account: string): Generator<RoutePlan> {
		for (const route of this.#entries.routes().values())
			if (route?.account === account && route.plan) yield route.plan;
	}

	/** Whether the bucket holds a plan's document, by its key. */
	hasDocument(key: string): boolean {
		return this.#entries.documents().has(key);
	}

	/** The account that has this source key for ever, or `tombstone`; undefined if nobody has taken it. */
	keyOwner(sourceKey: string): string | undefined {
		return this.#owners.all.get(sourceKey);
	}

	/** The shards that may hold the source's events, if it has moved; else none. */
	shardsOf(sourceKey: string): readonly number[] {
		return this.#owners.shardsOf(sourceKey);
	}

	/** Why the last attempt to publish failed; undefined if it succeeded. */
	get lastError(): string | undefined {
		return this.#lastError;
	}

	/**
	 * Called for every route that was put, taken or removed, and for every desired route when publishing succeeds for the first
	 * time, fails, or recovers.
	 */
	onChange(handler: (route: Route) => void): void {
		this.#handlers.push(handler);
	}

	/** Called when the buckets changed, and this process didn't do it: publish again. */
	onDrift(handler: () => void): void {
		this.#driftHandlers.push(handler);
	}

	/** The buckets may have changed, since NATS was away or was rebuilt: the next step reads them again. */
	forget(): void {
		this.#stale = true;
	}

	/**
	 * Makes the bucket hold exactly the desired routes whose source key is their account's, then puts the synced marker.
	 * Throws errors of NATS, such as the refusal of a write because the bucket has changed. The next call then reads the
	 * buckets again, since it is unknown what arrived.
	 * @param desiredNow is asked when the buckets have been read. Oldest Source first: of two that want one source key, the
	 * older one has it.
	 * @param heldBy gives the shards that may hold the events of a route's Source. The bucket may be new, and lack them.
	 * @param documentOf gives the document of a plan that a route names, by its key, unless the bucket has it.
	 * @param markOf gives the marker for the bucket with this one. While a cluster is restored, no route is removed.
	 */
	async publish(
		desiredNow: () => Route[],
		documentOf: (key: string) => string | undefined = () => undefined,
		heldBy: (route: Route) => readonly number[] = () => [],
		markOf: MarkOf = async (found = {}) => found,
	): Promise<void> {
		try {
			const changed = await this.#inTurn(() =>
				this.#publish(desiredNow, documentOf, heldBy, markOf),
			);
			// A Source may have been read before the buckets were, and waits to hear of its route although that is right.
			const isNews = !this.#hasPublished || this.#lastError !== undefined;
			this.#hasPublished = true;
			this.#lastError = undefined;
			this.#notify(isNews ? new Set([...changed, ...desiredNow()]) : changed);
		} catch (error) {
			this.forget();
			if (!isConflict(error)) {
				const said = withhold(
					...([this.#log, error, "the operator"] as const),
					"routes can't be published",
				);
				this.#lastError =
					error instanceof NoArchive
						? `NATS has no bucket of routes, and no archive runs, which alone makes it (${said}). Administrators: start archive, as the alert TidemillArchiveDown says`
						: `NATS can't be used (${said})`;
				this.#notify(desiredNow());
			}
			throw error;
		}
	}

	/**
	 * Takes a source key and its URL out of use for good: nobody can take it again. Returns false and does nothing if
	 * the key belongs to another account. Throws errors of NATS, as {@link publish} does.
	 */
	async putTombstone(sourceKey: string, account: string): Promise<boolean> {
		try {
			return await this.#inTurn(() => this.#putTombstone(sourceKey, account));
		} catch (error) {
			this.forget();
			throw error;
		}
	}

	async #putTombstone(sourceKey: string, account: string): Promise<boolean> {
		const routes = await this.#open();
		if (!(await this.#owners.putTombstone(sourceKey, account))) return false;
		await this.#remove(routes, routeKey(sourceKey));
		return true;
	}

	/** Returns the routes that were put, taken or removed. */
	async #publish(
		desiredNow: () => Route[],
		documentOf: (key: string) => string | undefined,
		heldBy: (route: Route) => readonly number[],
		markOf: MarkOf,
	): Promise<Set<Route>> {
		const routes = await this.#open();
		const mark = await markOf(this.#entries.mark);
		const desired = desiredNow();
		const plan = () =>
			decide(desired, this.#owners.all, this.#entries.routes());

		// A changed token waits neither for others' new Sources nor for their plans' documents.
		const known = plan().put.filter((route) => this.#hasDocumentOf(route));
		await mapConcurrently(known, atOnce, async (route) => {
			await this.#addShards(route, heldBy(route));
			await this.#put(routes, route);
		});
		const free = plan().take;
		await mapConcurrently(free, atOnce, ({ sourceKey, account }) =>
			this.#owners.take(sourceKey, account),
		);
		const { put, remove: unwanted } = plan();
		const remove = mark.isRestoring ? [] : unwanted;
		const owners = this.#owners.all;
		const own = desired.filter(
			({ sourceKey, account }) => owners.get(sourceKey) === account,
		);
		await mapConcurrently(own, atOnce, (route) =>
			this.#addShards(route, heldBy(route)),
		);
		await this.#putDocuments(routes, desired, documentOf);
		await mapConcurrently(put, atOnce, (route) => this.#put(routes, route));
		const removed = remove.flatMap((key) => this.#entries.get(key) ?? []);
		await mapConcurrently(remove, atOnce, (key) => this.#remove(routes, key));
		await this.#removeDocuments(routes);
		if (!isDeepStrictEqual(mark, this.#entries.mark))
			await routes.put(syncedKey, JSON.stringify(mark));
		return new Set([...known, ...free, ...put, ...removed]);
	}

	/** Nothing has to be written before the route that it names. */
	#hasDocumentOf({ account, plan }: Route): boolean {
		return (
			plan?.version === undefined || this.hasDocument(planKey(account, plan))
		);
	}

	/** Before the route names another shard: whoever asks for the events has to know both by then. */
	async #addShards(route: Route, heldBy: readonly number[]): Promise<void> {
		const { sourceKey, shard } = route;
		const former = this.published(sourceKey)?.shard ?? shard;
		const shards = unitedShards(heldBy, [former, shard]);
		if (shards.length > 1) await this.#owners.addShards(sourceKey, shards);
	}

	/** Before the routes that name them. One after the other, since each may be large. */
	async #putDocuments(
		routes: KV,
		desired: Route[],
		documentOf: (key: string) => string | undefined,
	): Promise<void> {
		for (const key of planKeysOf(desired)) {
			if (this.hasDocument(key)) continue;
			const text = documentOf(key);
			if (text === undefined) continue;
			this.#entries.wroteDocument(key, await routes.put(key, text));
		}
	}

	/** Those that no route names any more. */
	async #removeDocuments(routes: KV): Promise<void> {
		const named = planKeysOf(this.#entries.routes().values());
		for (const [key, previousSeq] of [...this.#entries.documents()]) {
			if (named.has(key)) continue;
			this.#entries.wroteDocument(key, undefined);
			await routes.purge(key, { previousSeq });
		}
	}

	#put(routes: KV, route: Route): Promise<void> {
		const key = routeKey(route.sourceKey);
		const text = JSON.stringify(route);
		const revision = this.#entries.revisionOf(key);
		return this.#entries.write(key, route, () =>
			revision === undefined
				? routes.create(key, text)
				: routes.update(key, text, revision),
		);
	}

	async #remove(routes: KV, key: string): Promise<void> {
		const previousSeq = this.#entries.revisionOf(key);
		if (previousSeq !== undefined)
			await this.#entries.remove(key, () => routes.purge(key, { previousSeq }));
	}

	#drifted(): void {
		for (const handler of this.#driftHandlers) handler();
	}

	#notify(routes: Iterable<Route>): void {
		for (const route of routes)
			for (const handler of this.#handlers) handler(route);
	}

	async #create(name: string): Promise<KV> {
		await haveMade(this.#nats, streamOf(name), this.#replicas);
		return new Kvm(this.#nats).open(name);
	}

	async #watched(name: string): Promise<WatchedBucket> {
		await haveMade(this.#nats, streamOf(name), this.#replicas);
		return openWatched(this.#nats, name);
	}

	/** The bucket of routes, when memory has what is in both buckets. */
	async #open(): Promise<KV> {
		if (this.#bucket && !this.#stale) return this.#bucket;
		this.#stale = false;
		try {
			const routes = await this.#create(bucket.routes);
			await this.#owners.read(
				this.#nats,
				await this.#create(bucket.sourceKeys),
			);
			const reading = this.#entries.nextReading();
			this.#watch.readAgain();
			// The connection may break.
			const silent = "NATS went silent while a bucket was read";
			await within(readTimeoutMs, reading, silent);
			this.#bucket = routes;
			return routes;
		} catch (error) {
			this.forget();
			throw error;
		}
	}
}

/**
 * What an operator claims of its NATS beside the address, of which one NATS may have several: when its bucket of source keys was
 * created, to the nanosecond.
 */
export async function natsClaim(
	nats: NatsConnection,
	replicas: number,
): Promise<string> {
	const stream = streamOf(bucket.sourceKeys);
	await haveMade(nats, stream, replicas);
	const { streams } = await jetstreamManager(nats);
	const { created } = await streams.info(stream);
	return `the NATS that has data of Tidemill since ${created}`;
}

function planKeysOf(routes: Iterable<Route | undefined>): Set<string> {
	const keys = new Set<string>();
	for (const route of routes)
		if (route?.plan?.version !== undefined)
			keys.add(planKey(route.account, route.plan));
	return keys;
}
