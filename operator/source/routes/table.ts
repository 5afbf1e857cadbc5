// @nats-io/kv: the NATS makers' own key-value API.
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../../contracts/nats.ts";
import { type Route, routeKey, syncedKey } from "../../../contracts/route.ts";
import { isConflict } from "../../../service/nats.ts";
import { decide } from "./decide.ts";

/** Claims a source key in place of an account after its events were deleted. No namespace has this name. */
export const buried = "(deleted)";

/**
 * The routes and claims buckets in NATS, and their only writer. Memory has all that was read and written, so lookups work
 * while NATS is away.
 */
export class RouteTable {
	readonly #nats: NatsConnection;
	readonly #replicas: number;
	#buckets: { routes: KV; claims: KV } | undefined;
	#stale = true;
	#synced = false;
	#published = new Map<string, Route | undefined>();
	#claims = new Map<string, string>();
	#trouble: string | undefined;
	#turn: Promise<unknown> = Promise.resolve();
	readonly #handlers: ((route: Route) => void)[] = [];

	constructor(nats: NatsConnection, options: { replicas: number }) {
		this.#nats = nats;
		this.#replicas = options.replicas;
	}

	/** The receivers' route for this source key, as last read or written. */
	published(sourceKey: string): Route | undefined {
		return this.#published.get(routeKey(sourceKey));
	}

	/** The account that has this source key for ever, or {@link buried}; undefined if nobody has claimed it. */
	claimant(sourceKey: string): string | undefined {
		return this.#claims.get(sourceKey);
	}

	/** Why the last attempt to publish failed; undefined if it succeeded. */
	get trouble(): string | undefined {
		return this.#trouble;
	}

	/** Called for every route that was put, claimed or removed, and for every desired route when publishing fails or recovers. */
	onChange(handler: (route: Route) => void): void {
		this.#handlers.push(handler);
	}

	/** The buckets may have changed, since NATS was away or was rebuilt: the next step reads them again. */
	forget(): void {
		this.#stale = true;
	}

	/**
	 * Makes the bucket hold exactly the desired routes whose source key is their account's, then puts the synced marker.
	 * Throws errors of NATS. The next call then reads the buckets again, since it is unknown what arrived.
	 * @param desired Oldest Source first: of two that want one source key, the older one has it.
	 */
	async publish(desired: Route[]): Promise<void> {
		try {
			const changed = await this.#inTurn(() => this.#publish(desired));
			const news = this.#trouble === undefined ? changed : desired;
			this.#trouble = undefined;
			this.#tell(news);
		} catch (error) {
			this.forget();
			this.#trouble = `NATS: ${(error as Error).message}`;
			this.#tell(desired);
			throw error;
		}
	}

	/**
	 * Takes a source key and its URL out of use for good: nobody can claim it again. Returns false and does nothing if
	 * the key belongs to another account. Throws errors of NATS, as {@link publish} does.
	 */
	async bury(sourceKey: string, account: string): Promise<boolean> {
		try {
			return await this.#inTurn(() => this.#bury(sourceKey, account));
		} catch (error) {
			this.forget();
			throw error;
		}
	}

	async #bury(sourceKey: string, account: string): Promise<boolean> {
		const { routes, claims } = await this.#open();
		const claimant = this.claimant(sourceKey);
		if (claimant !== undefined && claimant !== account && claimant !== buried)
			return false;
		if (claimant !== buried) await claims.put(sourceKey, buried);
		this.#claims.set(sourceKey, buried);
		const key = routeKey(sourceKey);
		if (this.#published.has(key)) await routes.purge(key);
		this.#published.delete(key);
		return true;
	}

	/** One at a time: a route that was planned before its claim was buried must not be put afterwards. */
	#inTurn<T>(act: () => Promise<T>): Promise<T> {
		const result = this.#turn.then(act);
		this.#turn = result.catch(() => undefined);
		return result;
	}

	/** Returns the routes that were put, claimed or removed. */
	async #publish(desired: Route[]): Promise<Set<Route>> {
		const { routes, claims } = await this.#open();
		const plan = () => decide(desired, this.#claims, this.#published);

		const unclaimed = plan().claim;
		await inBatches(unclaimed, async ({ sourceKey, account }) => {
			this.#claims.set(sourceKey, await claim(claims, sourceKey, account));
		});
		const { put, remove } = plan();
		await inBatches(put, async (route) => {
			const key = routeKey(route.sourceKey);
			await routes.put(key, JSON.stringify(route));
			this.#published.set(key, route);
		});
		const removed = remove.flatMap((key) => this.#published.get(key) ?? []);
		await inBatches(remove, async (key) => {
			await routes.purge(key);
			this.#published.delete(key);
		});
		if (!this.#synced) await routes.put(syncedKey, new Date().toISOString());
		this.#synced = true;
		return new Set([...unclaimed, ...put, ...removed]);
	}

	#tell(routes: Iterable<Route>): void {
		for (const route of routes)
			for (const handler of this.#handlers) handler(route);
	}

	async #open(): Promise<{ routes: KV; claims: KV }> {
		if (this.#buckets && !this.#stale) return this.#buckets;
		this.#stale = false;
		this.#synced = false;
		try {
			const kvm = new Kvm(this.#nats);
			const options = { history: 1, replicas: this.#replicas };
			const routes = await kvm.create(bucket.routes, options);
			const claims = await kvm.create(bucket.claims, options);
			this.#claims = await readAll(claims);
			const published = new Map<string, Route | undefined>();
			for (const [key, text] of await readAll(routes))
				if (key !== syncedKey) published.set(key, parseRoute(text));
			this.#published = published;
			this.#buckets = { routes, claims };
			return this.#buckets;
		} catch (error) {
			this.forget();
			throw error;
		}
	}
}

/** Claims a source key for an account. Returns the account that has it, which may be an earlier one. */
async function claim(
	claims: KV,
	sourceKey: string,
	account: string,
): Promise<string> {
	try {
		await claims.create(sourceKey, account);
		return account;
	} catch (error) {
		const entry = isConflict(error) ? await claims.get(sourceKey) : null;
		if (!entry) throw error;
		return entry.string();
	}
}

async function readAll(kv: KV): Promise<Map<string, string>> {
	const entries = new Map<string, string>();
	const history = await kv.history();
	// The iterator would wait for ever if the connection breaks.
	const deadline = setTimeout(
		() => history.stop(new Error("NATS went silent while a bucket was read")),
		30_000,
	);
	try {
		for await (const entry of history)
			if (entry.operation === "PUT") entries.set(entry.key, entry.string());
			else entries.delete(entry.key);
	} finally {
		clearTimeout(deadline);
	}
	return entries;
}

/** Undefined for an unreadable entry, which then differs from every route and is replaced or removed. */
function parseRoute(text: string): Route | undefined {
	try {
		return JSON.parse(text) as Route;
	} catch {
		return undefined;
	}
}

/** Thousands of changes neither wait for each answer in turn nor flood the connection. */
async function inBatches<T>(
	items: T[],
	act: (item: T) => Promise<void>,
): Promise<void> {
	for (let start = 0; start < items.length; start += 64)
		await Promise.all(items.slice(start, start + 64).map(act));
}
