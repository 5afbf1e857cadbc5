// @nats-io/kv: the NATS makers' own key-value API.
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../../contracts/nats.ts";
import { type Route, routeKey, syncedKey } from "../../../contracts/route.ts";
import { isConflict } from "../../../service/nats.ts";
import { planRoutes } from "./plan.ts";

/** In the place of an account that claims a source key: its events were deleted. No namespace has such a name. */
export const buried = "(deleted)";

/**
 * The routes and claims buckets in NATS, and their one writer. What was read and written is kept in memory, so that a
 * question costs nothing while NATS is away.
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

	/** The route that receivers have for this source key, as of the last word from NATS. */
	published(sourceKey: string): Route | undefined {
		return this.#published.get(routeKey(sourceKey));
	}

	/** The account that has this source key for life, or {@link buried}; undefined as long as nobody claimed it. */
	claimant(sourceKey: string): string | undefined {
		return this.#claims.get(sourceKey);
	}

	/** Why the last attempt to publish failed; undefined when it didn't. */
	get trouble(): string | undefined {
		return this.#trouble;
	}

	/** Called for every desired route of which something new can be said, and for every route that was removed. */
	onChange(handler: (route: Route) => void): void {
		this.#handlers.push(handler);
	}

	/** The buckets may have changed without us (NATS was away, or was built anew): the next step reads them whole. */
	forget(): void {
		this.#stale = true;
	}

	/**
	 * Makes the bucket hold exactly the desired routes whose key is their account's, then puts the synced marker.
	 * Any error of NATS is thrown, and makes the next call read the buckets again, since what arrived is unknown.
	 * @param desired oldest Source first: of two that want one key, the older has it.
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
	 * Takes a source key out of use for good, and its URL with it: nobody can claim it any more. Returns false, and does
	 * nothing, when the key is another account's. Any error of NATS is thrown, as by {@link publish}.
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

	/** One at a time: what was planned over the claims must not be put after one of them was buried. */
	#inTurn<T>(act: () => Promise<T>): Promise<T> {
		const result = this.#turn.then(act);
		this.#turn = result.catch(() => undefined);
		return result;
	}

	/** Returns the routes that were put or removed, and those whose claim was settled. */
	async #publish(desired: Route[]): Promise<Set<Route>> {
		const { routes, claims } = await this.#open();
		const plan = () => planRoutes(desired, this.#claims, this.#published);

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

/** Claims a key for an account. The answer is who has it: the account itself, or who was there first. */
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
	// An iterator whose connection went away would wait for ever.
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

/** Undefined for what no version of the operator wrote: it differs from every route and so is replaced or removed. */
function parseRoute(text: string): Route | undefined {
	try {
		return JSON.parse(text) as Route;
	} catch {
		return undefined;
	}
}

/** A bucket with thousands of changes neither waits for each answer in turn nor floods the connection. */
async function inBatches<T>(
	items: T[],
	act: (item: T) => Promise<void>,
): Promise<void> {
	for (let start = 0; start < items.length; start += 64)
		await Promise.all(items.slice(start, start + 64).map(act));
}
