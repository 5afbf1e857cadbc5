import { isDeepStrictEqual } from "node:util";
import {
	type Route,
	readMark,
	type SyncedMark,
	syncedKey,
} from "../../../packages/contracts/route.ts";
import { isPlanKey } from "../../../packages/contracts/tracking-plan.ts";
import type { BucketReader } from "../../../packages/service/nats/bucket-watch.ts";

/** An entry of the bucket. */
interface Entry {
	/** Undefined if it is unreadable: it then differs from every route, and is replaced or removed. */
	route: Route | undefined;
	/** Of the write that made it. A later write must name it. */
	revision: number;
	isRemoved?: boolean;
}

/**
 * What the routes bucket holds: what its watch reads, and what this process has written since. Anything else that appears in
 * the bucket is a drift.
 */
export class RouteEntries implements BucketReader {
	#current: Reading = newReading();
	#incoming: Reading | undefined;
	/** Routes under way to the bucket; undefined for a removal. */
	readonly #sending = new Map<string, Route | undefined>();
	readonly #onDrift: () => void;
	readonly #readers: (() => void)[] = [];

	/** @param onDrift is called when the bucket changed, and this process didn't do it. */
	constructor(onDrift: () => void) {
		this.#onDrift = onDrift;
	}

	/** Undefined if the bucket isn't marked complete. */
	get mark(): SyncedMark | undefined {
		return this.#current.mark;
	}

	get(key: string): Route | undefined {
		return this.#current.entries.get(key)?.route;
	}

	/** Bucket key → route; undefined for an unreadable entry. */
	routes(): Map<string, Route | undefined> {
		const routes = new Map<string, Route | undefined>();
		for (const [key, { route, isRemoved }] of this.#current.entries)
			if (!isRemoved) routes.set(key, route);
		return routes;
	}

	/** The plans' documents: key → revision. */
	documents(): ReadonlyMap<string, number> {
		return this.#current.documents;
	}

	/** @param revision undefined: it is removed. */
	wroteDocument(key: string, revision: number | undefined): void {
		for (const reading of [this.#current, this.#incoming])
			if (reading) setDocument(reading, key, revision);
	}

	/** Undefined if the bucket has no such entry. */
	revisionOf(key: string): number | undefined {
		const entry = this.#current.entries.get(key);
		return entry?.isRemoved ? undefined : entry?.revision;
	}

	/** Resolves when the next reading of the whole bucket is complete. */
	nextReading(): Promise<void> {
		return new Promise((resolve) => this.#readers.push(resolve));
	}

	/** Runs a write, and remembers what it wrote. @param write returns its revision. */
	async write(
		key: string,
		route: Route,
		write: () => Promise<number>,
	): Promise<void> {
		const revision = await this.#send(key, route, write);
		this.#wrote(key, { route, revision });
	}

	/** Runs the removal of an entry. */
	async remove(key: string, remove: () => Promise<void>): Promise<void> {
		const before = this.#current.entries.get(key)?.revision ?? 0;
		await this.#send(key, undefined, remove);
		// NATS doesn't say the revision of a removal, but it is a later one.
		const revision = before + 1;
		this.#wrote(key, { route: undefined, revision, isRemoved: true });
	}

	async #send<T>(
		key: string,
		route: Route | undefined,
		act: () => Promise<T>,
	): Promise<T> {
		this.#sending.set(key, route);
		try {
			return await act();
		} finally {
			this.#sending.delete(key);
		}
	}

	#wrote(key: string, entry: Entry): void {
		for (const reading of [this.#current, this.#incoming])
			if (reading && !isOlder(entry, reading.entries.get(key)))
				reading.entries.set(key, entry);
	}

	begin(): void {
		this.#incoming = newReading();
	}

	set(key: string, value: string | undefined, revision: number): void {
		const reading = this.#incoming ?? this.#current;
		if (key === syncedKey) {
			reading.mark = value === undefined ? undefined : readMark(value);
			if (!this.#incoming && !reading.mark) this.#onDrift();
			return;
		}
		if (isPlanKey(key)) {
			const known = reading.documents.get(key) ?? 0;
			// What the watch delivers late must not replace what was written since.
			if (revision < known) return;
			setDocument(reading, key, value === undefined ? undefined : revision);
			// Its version names what it says, so only its absence matters.
			if (!this.#incoming && known > 0 && value === undefined) this.#onDrift();
			return;
		}
		const known = reading.entries.get(key);
		const entry: Entry = { route: parseRoute(value), revision };
		if (isOlder(entry, known)) return;
		if (value === undefined) reading.entries.delete(key);
		else reading.entries.set(key, entry);
		if (this.#incoming) return;
		const expected = this.#sending.has(key)
			? this.#sending.get(key)
			: known?.route;
		const isUnreadable = value !== undefined && entry.route === undefined;
		if (isUnreadable || !isDeepStrictEqual(entry.route, expected))
			this.#onDrift();
	}

	complete(): void {
		if (!this.#incoming) return;
		this.#current = this.#incoming;
		this.#incoming = undefined;
		const readers = this.#readers.splice(0);
		for (const resolve of readers) resolve();
		// Nobody asked for this reading: the bucket was made anew.
		if (readers.length === 0) this.#onDrift();
	}
}

interface Reading {
	entries: Map<string, Entry>;
	documents: Map<string, number>;
	mark: SyncedMark | undefined;
}

function newReading(): Reading {
	return { entries: new Map(), documents: new Map(), mark: undefined };
}

function setDocument(
	{ documents }: Reading,
	key: string,
	revision: number | undefined,
): void {
	if (revision === undefined) documents.delete(key);
	else documents.set(key, revision);
}

/** A late entry of the watch must not replace a newer write. */
function isOlder(entry: Entry, known: Entry | undefined): boolean {
	return known !== undefined && entry.revision < known.revision;
}

function parseRoute(text: string | undefined): Route | undefined {
	try {
		return JSON.parse(text ?? "") as Route;
	} catch {
		return undefined;
	}
}
