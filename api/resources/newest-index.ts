import {
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import type {
	NewestObject,
	SharedView,
	SharedWatches,
	WatchedKind,
} from "./shared-watch.ts";

declare module "fastify" {
	interface FastifyInstance {
		newestIndex: NewestIndex;
	}
}

/** How long a watch goes on after the last page that needed it: whoever pages through a list comes again within that. */
const keptMs = 60_000;
/** Of all kinds and accounts. Beyond these, the one that was unused for longest ends. */
const mostKept = 16;
/** Of a page, so many objects at most are asked for one by one, since there was no room to hold them. */
const mostReads = 100;

/** A kind in an account, as a caller sees it. */
interface Listed {
	client: KubeClient;
	kind: ResourceKind<KubeObject>;
	namespace: string;
	whenGone?: (() => AbortSignal) | undefined;
}

interface IndexedPage {
	items: object[];
	/** Of the last object that the page has, if more follow. */
	last?: string;
	total: number;
}

/** Which objects of a list a page has. */
export interface WantedPage {
	/** One of an object's, by field. */
	fields: Record<string, string>;
	isWithin(created: string): boolean;
	/** Only older ones, by `ageOf`. */
	after: string | undefined;
	size: number;
	/** Of all texts of the page. One comes in any case. */
	maxLength: number;
}

/**
 * Pages of lists that are too long to read and sort for each of them, newest first. They come from the watch that the console's open
 * pages share. What was made a moment ago may be missing.
 */
export class NewestIndex {
	readonly #watches: SharedWatches;
	/** By plural. */
	readonly #kinds: ReadonlyMap<string, WatchedKind>;
	/** By plural and namespace, the one that was unused for longest first. */
	readonly #kept = new Map<string, KeptWatch>();
	#isClosed = false;

	constructor(watches: SharedWatches, kinds: ReadonlyMap<string, WatchedKind>) {
		this.#watches = watches;
		this.#kinds = kinds;
	}

	/** How many there are, if the index has them already. */
	count({ kind, namespace }: Listed): number | undefined {
		return this.#kept.get(`${kind.plural}/${namespace}`)?.view?.count();
	}

	/** Ends all watches: each is an open connection, which keeps the process. */
	close(): void {
		this.#isClosed = true;
		for (const key of this.#kept.keys()) this.#end(key);
	}

	/**
	 * Undefined if there is no index: a caller may not watch, or just now another one of the account might not. Throws as the client
	 * does if the caller may not list. A page may be shorter than its size and say that more follow.
	 */
	async page(
		listed: Listed,
		{ fields, isWithin, after, size, maxLength }: WantedPage,
	): Promise<IndexedPage | undefined> {
		const { client, kind, namespace, whenGone } = listed;
		// What others have been sent isn't for everybody.
		await client.list(kind, { namespace, limit: 1, metadataOnly: true });
		if (!this.#keep(listed)) return undefined;
		const { promise: failure, resolve: failed } = Promise.withResolvers<void>();
		const view = this.#watches.join(this.#kinds.get(kind.plural)!, namespace, {
			client,
			changed() {},
			failed,
		});
		try {
			const gone = whenGone?.();
			gone?.addEventListener("abort", () => failed(), { once: true });
			await Promise.race([view.listed, failure]);
			if (view.count() === undefined) return undefined;
			const wanted = Object.entries(fields);
			const matching = view
				.newest()
				.filter(
					(one) =>
						isWithin(one.created) &&
						wanted.every(([field, value]) => one.fields[field] === value),
				);
			const left = matching.filter(
				({ age }) => after === undefined || age < after,
			);
			const chosen = left.slice(
				0,
				Math.min(size, countWithin(left, maxLength, view)),
			);
			const texts = await Promise.all(chosen.map(({ name }) => view.get(name)));
			return {
				items: texts.flatMap((text) =>
					text === undefined ? [] : JSON.parse(text),
				),
				...(chosen.length < left.length && { last: chosen.at(-1)!.age }),
				total: matching.length,
			};
		} finally {
			view.leave();
		}
	}

	/**
	 * Has a visitor of its own stay for a while; false if one was refused. The watch has the token of one caller for two minutes at
	 * most: the next one's takes over after the first of them, so that nobody who has signed out watches on for others.
	 */
	#keep(listed: Listed): boolean {
		const key = `${listed.kind.plural}/${listed.namespace}`;
		const before = this.#kept.get(key);
		if (before && !before.view) return false;
		if (this.#isClosed) return true;
		this.#kept.delete(key);
		if (before && performance.now() - before.sinceMs < keptMs) {
			before.timer.refresh();
			this.#kept.set(key, before);
			return true;
		}
		if (!before && this.#kept.size >= mostKept)
			this.#end(this.#kept.keys().next().value!);
		this.#kept.set(key, this.#joined(key, listed));
		// After the next one is there, so that it watches on from where this one was.
		clearTimeout(before?.timer);
		before?.view?.leave();
		return true;
	}

	#joined(key: string, { client, kind, namespace }: Listed): KeptWatch {
		const timer = setTimeout(() => this.#end(key), keptMs).unref();
		const kept: KeptWatch = { timer, sinceMs: performance.now() };
		kept.view = this.#watches.join(this.#kinds.get(kind.plural)!, namespace, {
			client,
			changed() {},
			failed: (error) => {
				if (this.#kept.get(key) !== kept) return;
				if (!hasReason(error, "Forbidden")) return this.#end(key);
				// Until the time is over lists are read instead: all would be read for each page, and in vain.
				kept.view?.leave();
				delete kept.view;
			},
		});
		return kept;
	}

	#end(key: string): void {
		const kept = this.#kept.get(key)!;
		this.#kept.delete(key);
		clearTimeout(kept.timer);
		kept.view?.leave();
	}
}

/** A visitor between pages. */
interface KeptWatch {
	/** Undefined after the apiserver has refused the watch. */
	view?: SharedView;
	timer: NodeJS.Timeout;
	/** By `performance.now()`. */
	sinceMs: number;
}

/** How many of the first a page takes, and one in any case. */
function countWithin(
	objects: readonly NewestObject[],
	maxLength: number,
	view: SharedView,
): number {
	let length = 0;
	let reads = 0;
	const beyond = objects.findIndex((one) => {
		length += one.length;
		if (!view.isHeld(one.name)) reads++;
		return length > maxLength || reads > mostReads;
	});
	return beyond < 0 ? objects.length : Math.max(1, beyond);
}
