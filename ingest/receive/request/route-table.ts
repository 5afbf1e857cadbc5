import {
	type Route,
	readMark,
	routeKey,
	syncedKey,
	type UnavailableAuthorization,
} from "../../../packages/contracts/route.ts";
import { sentAgainField } from "../../../packages/contracts/sent-again.ts";
import { isPlanKey } from "../../../packages/contracts/tracking-plan.ts";
import type { BucketReader } from "../../../packages/service/nats/bucket-watch.ts";
import type { SecretSealer } from "../../../packages/service/seal-key.ts";
import { parseAddress, type WebhookAddress } from "./address.ts";
import { hasUrlKey } from "./credentials.ts";
import { templateOf } from "./custom-signature.ts";
import { type RequestRefusal, refusals } from "./refusal.ts";
import { openSigningKeys, type SigningKey } from "./signature-check.ts";

/** A route with what it takes to check senders. */
export interface ServedRoute extends Route {
	/** Undefined for other authorizations, and when the keys can't be opened: then nothing is accepted. */
	signingKeys?: readonly SigningKey[] | undefined;
	/** Digests a presented token. Undefined for other authorizations, and without a seal key: then nothing is accepted. */
	tokenDigest?: ((token: string | Uint8Array) => string) | undefined;
	/** What the requests are checked for once the authorization can be checked. */
	awaits?: UnavailableAuthorization["awaits"];
}

/** The Source that a URL leads to. */
export interface FoundSource {
	route: ServedRoute;
	address: WebhookAddress;
}

/** What keeps the plans that routes name. */
interface PlanDocuments {
	/** @param document as JSON; undefined when it was removed. */
	set(key: string, document: string | undefined): void;
	/** Takes all documents, by their keys. */
	replace(documents: ReadonlyMap<string, string>): void;
}

/** More URLs than get events at the same time. They take some megabytes. */
const maxRemembered = 10_000;

/**
 * The content of the routes bucket. After a reconnect, or when the bucket was recreated, receive reads the whole bucket
 * again. The new reading replaces the table only when it is complete, so that every known URL is served meanwhile.
 * A bucket that lost its content replaces nothing until operator has filled it and marked it `synced`.
 */
export class RouteTable implements BucketReader {
	readonly #sealKeys: SecretSealer | undefined;
	readonly #plans: PlanDocuments | undefined;
	readonly #closed: ReadonlySet<string>;
	#served = new Reading();
	#incoming: Reading | undefined;
	#seenCurrentAtMs = performance.now();
	/** By request target. */
	readonly #remembered = new Map<string, FoundSource>();

	/**
	 * @param sealKeys without them, receive answers 503 for Sources with tokens or signatures.
	 * @param plans gets the plan documents of the bucket.
	 * @param closed source keys whose routes count as removed.
	 */
	constructor(
		sealKeys?: SecretSealer,
		plans?: PlanDocuments,
		closed: readonly string[] = [],
	) {
		this.#sealKeys = sealKeys;
		this.#plans = plans;
		this.#closed = new Set(closed.map(routeKey));
	}

	/** Operator has marked the bucket complete. */
	get isSynced(): boolean {
		return this.#served.isSynced;
	}

	/** Whether an unknown URL may be one of a Source. So it is, too, while a cluster is restored. */
	get mayLackRoutes(): boolean {
		return !this.#served.isSynced || this.#served.isRestoring;
	}

	/** The table equals the bucket's content at this moment. */
	seenCurrent(): void {
		this.#seenCurrentAtMs = performance.now();
	}

	/** Time since the table was last seen to equal the bucket, or since the start. */
	ageMs(): number {
		return performance.now() - this.#seenCurrentAtMs;
	}

	find(sourceKey: string): ServedRoute | undefined {
		return this.#served.routes.get(routeKey(sourceKey));
	}

	/** The Source of a request target, if it was remembered since the routes last changed. */
	remembered(target: string): FoundSource | undefined {
		return this.#remembered.get(target);
	}

	/**
	 * Remembers the Source of a target with the right URL key, so that receive doesn't hash the key for every event. A map
	 * compares a hash of the whole target first, so its timing reveals nothing about an almost right key.
	 */
	remember(target: string, source: FoundSource): void {
		if (this.#remembered.size >= maxRemembered) this.#remembered.clear();
		this.#remembered.set(target, source);
	}

	/** Begins a new reading of the bucket. */
	begin(): void {
		this.#incoming = new Reading();
	}

	/**
	 * Sets a key of the latest reading. @param value undefined when the key was deleted. Throws if receive can't read the
	 * route or open its signing keys.
	 */
	set(key: string, value: string | undefined): void {
		const reading = this.#incoming ?? this.#served;
		if (isPlanKey(key)) {
			this.#setPlan(reading, key, value);
			return;
		}
		this.#remembered.clear();
		if (key === syncedKey) {
			reading.isSynced = value !== undefined;
			reading.isRestoring = readMark(value ?? "").isRestoring === true;
		} else if (value === undefined || this.#closed.has(key))
			reading.routes.delete(key);
		else {
			const route: ServedRoute = parseRoute(value);
			// Replace the old route first: it must not be served even if the new one's keys can't be opened.
			reading.routes.set(key, route);
			this.#prepareCheck(route);
		}
		this.#replaceIfBetter();
	}

	#setPlan(reading: Reading, key: string, document: string | undefined): void {
		if (document === undefined) reading.plans.delete(key);
		else reading.plans.set(key, document);
		if (reading === this.#served) this.#plans?.set(key, document);
	}

	#prepareCheck(route: ServedRoute): void {
		const { authorization, sourceKey } = route;
		const { type } = authorization;
		if (type === "Unavailable") {
			const { awaits } = authorization;
			if (awaits?.type === "Signature" && awaits.custom)
				templateOf(awaits.custom);
			route.awaits = awaits;
		}
		if (type !== "Signature" && type !== "CustomToken") return;
		const sealKeys = this.#sealKeys;
		if (!sealKeys)
			throw new Error(
				"TIDEMILL_SEAL_KEY is not set, so tokens and signatures can't be checked. Set it to operator's value.",
			);
		if (type === "CustomToken") {
			const { sealKeyId } = authorization;
			const key = sealKeyId ? sealKeys.named(sealKeyId) : sealKeys.current;
			route.tokenDigest = (token) => key.digest(token, sourceKey);
		} else {
			if (authorization.custom) templateOf(authorization.custom);
			route.signingKeys = openSigningKeys(authorization, sourceKey, sealKeys);
		}
	}

	/** Opens again what a new key may open. What a former key has opened stays open. */
	sealKeysChanged(): void {
		for (const reading of [this.#served, this.#incoming])
			for (const route of reading?.routes.values() ?? [])
				try {
					this.#prepareCheck(route);
				} catch {
					// As before: setting the route has told why.
				}
		this.#remembered.clear();
	}

	/** Every key that the bucket held when the reading began has been set. */
	complete(): void {
		if (this.#incoming) this.#incoming.isComplete = true;
		this.#replaceIfBetter();
	}

	#replaceIfBetter(): void {
		const incoming = this.#incoming;
		if (!incoming?.isComplete) return;
		if (!incoming.isSynced && this.#served.isSynced) return;
		this.#served = incoming;
		this.#remembered.clear();
		this.#incoming = undefined;
		this.#plans?.replace(incoming.plans);
		this.seenCurrent();
	}
}

class Reading {
	readonly routes = new Map<string, ServedRoute>();
	/** Plan documents as JSON, by their keys. */
	readonly plans = new Map<string, string>();
	isSynced = false;
	isRestoring = false;
	isComplete = false;
}

function parseRoute(text: string): Route {
	const route = JSON.parse(text) as Route;
	if (route.version !== 1)
		throw new Error(
			`the route has version ${route.version}, but this receive reads version 1: upgrade receive before operator`,
		);
	if (route.capturedHeaders?.includes(sentAgainField))
		route.capturedHeaders = route.capturedHeaders.filter(
			(name) => name !== sentAgainField,
		);
	return route;
}

/** Finds the Source of a request target. A sender with a wrong URL key doesn't learn whether the Source exists. */
export function findSource(
	target: string,
	routes: Pick<
		RouteTable,
		"find" | "mayLackRoutes" | "remember" | "remembered"
	>,
): FoundSource | RequestRefusal {
	const remembered = routes.remembered(target);
	if (remembered) return remembered;
	const address = parseAddress(target);
	if (!address) return refusals.UnknownURL;
	const route = routes.find(address.sourceKey);
	if (!route || !hasUrlKey(route, address.urlKey))
		return routes.mayLackRoutes ? refusals.NotReady : refusals.UnknownURL;
	const source = { route, address };
	// A query can differ from event to event, and can hold a token.
	if (address.query === undefined) routes.remember(target, source);
	return source;
}
