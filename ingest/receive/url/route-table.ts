import { type Route, routeKey, syncedKey } from "../../../contracts/route.ts";
import type { SealKey } from "../../../service/seal-key.ts";
import {
	openSigningKeys,
	type SigningKey,
} from "../accept/signature/verification.ts";
import type { Address } from "./address.ts";

/** A route as it is served. */
export interface ServedRoute extends Route {
	/** Those of a Signature; undefined when they can't be opened, so that nothing can be accepted. */
	signingKeys?: readonly SigningKey[] | undefined;
}

/** A URL that a source has. */
export interface Destination {
	route: ServedRoute;
	address: Address;
}

/** URLs that are remembered at once: more than have events at the same time, in some megabytes. */
const maxDestinations = 10_000;

/**
 * What is known of the routes bucket. A whole new reading of the bucket (after a reconnect, or because the bucket was
 * made anew) replaces the table once it is complete, so that every URL that was served goes on being served meanwhile.
 * A bucket that lost its content replaces nothing until operator has filled it and marked it `synced`.
 */
export class RouteTable {
	readonly #sealKey: SealKey | undefined;
	#served = new Reading();
	#incoming: Reading | undefined;
	#seenCurrentAtMs = performance.now();
	readonly #destinations = new Map<string, Destination>();

	/** @param sealKey without it, Sources that want signatures are answered 503. */
	constructor(sealKey?: SealKey) {
		this.#sealKey = sealKey;
	}

	/** Operator has marked the bucket complete: a URL that isn't known doesn't exist. */
	get isSynced(): boolean {
		return this.#served.isSynced;
	}

	/** What is served was the bucket's content just now. */
	seenCurrent(): void {
		this.#seenCurrentAtMs = performance.now();
	}

	/** How long ago that was last seen; since the start when it never was. */
	ageMs(): number {
		return performance.now() - this.#seenCurrentAtMs;
	}

	find(sourceKey: string): ServedRoute | undefined {
		return this.#served.routes.get(routeKey(sourceKey));
	}

	/** Where a request target leads, if that was remembered since the routes last changed. */
	remembered(target: string): Destination | undefined {
		return this.#destinations.get(target);
	}

	/**
	 * Remembers where a target leads whose url key was shown to be right, so that its digest isn't made for every event. A
	 * map compares a hash of the whole text first: the time that it takes tells nothing of a key that is nearly right.
	 */
	remember(target: string, destination: Destination): void {
		if (this.#destinations.size >= maxDestinations) this.#destinations.clear();
		this.#destinations.set(target, destination);
	}

	/** A new reading of the bucket begins. */
	begin(): void {
		this.#incoming = new Reading();
	}

	/**
	 * A key's value in the reading that began last; undefined when the key was deleted. Throws if it can't be read, or can't
	 * be served for lack of its signing keys.
	 */
	set(key: string, value: string | undefined): void {
		const reading = this.#incoming ?? this.#served;
		this.#destinations.clear();
		if (key === syncedKey) reading.isSynced = value !== undefined;
		else if (value === undefined) reading.routes.delete(key);
		else {
			const route: ServedRoute = parseRoute(value);
			// First of all: what the Source asked for before must not be served any more.
			reading.routes.set(key, route);
			this.#openKeys(route);
		}
		this.#replaceIfBetter();
	}

	#openKeys(route: ServedRoute): void {
		const { authorization, sourceKey } = route;
		if (authorization.type !== "Signature") return;
		if (!this.#sealKey)
			throw new Error(
				"TIDEMILL_SEAL_KEY is not set, so signatures can't be verified. Set it to operator's.",
			);
		route.signingKeys = openSigningKeys(
			authorization,
			sourceKey,
			this.#sealKey,
		);
	}

	/** All that stood in the bucket when the reading began has been set. */
	complete(): void {
		if (this.#incoming) this.#incoming.isComplete = true;
		this.#replaceIfBetter();
	}

	#replaceIfBetter(): void {
		const incoming = this.#incoming;
		if (!incoming?.isComplete) return;
		if (!incoming.isSynced && this.#served.isSynced) return;
		this.#served = incoming;
		this.#destinations.clear();
		this.#incoming = undefined;
		this.seenCurrent();
	}
}

class Reading {
	readonly routes = new Map<string, ServedRoute>();
	isSynced = false;
	isComplete = false;
}

function parseRoute(text: string): Route {
	const route = JSON.parse(text) as Route;
	if (route.version !== 1)
		throw new Error(
			`the route is of version ${route.version}, this receive knows 1: upgrade receive before operator`,
		);
	return route;
}
