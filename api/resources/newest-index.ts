import type { KubeClient } from "../../packages/kube/client/client.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import type {
	NamedObject,
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
	/** By plural and namespace. */
	readonly #kept = new Map<
		string,
		{ view: SharedView; end(): void; timer: NodeJS.Timeout }
	>();

	constructor(watches: SharedWatches, kinds: ReadonlyMap<string, WatchedKind>) {
		this.#watches = watches;
		this.#kinds = kinds;
	}

	/** How many there are, if the index has them already. */
	count({ kind, namespace }: Listed): number | undefined {
		return this.#kept.get(`${kind.plural}/${namespace}`)?.view.count();
	}

	/** Undefined if the caller can't watch, or nothing else can be had. Throws as the client does if the caller may not list. */
	async page(
		listed: Listed,
		{ fields, isWithin, after, size, maxLength }: WantedPage,
	): Promise<IndexedPage | undefined> {
		const { client, kind, namespace, whenGone } = listed;
		// What others have been sent isn't for everybody.
		await client.list(kind, { namespace, limit: 1, metadataOnly: true });
		this.#keep(listed);
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
				Math.min(size, countWithin(left, maxLength)),
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

	/** A visitor of its own stays for a while. The first caller's token watches, or that of one who comes meanwhile. */
	#keep({ client, kind, namespace }: Listed): void {
		const key = `${kind.plural}/${namespace}`;
		const before = this.#kept.get(key);
		if (before) {
			before.timer.refresh();
			return;
		}
		const end = () => {
			clearTimeout(timer);
			view.leave();
			if (this.#kept.get(key)?.end === end) this.#kept.delete(key);
		};
		const timer = setTimeout(end, keptMs).unref();
		const view = this.#watches.join(this.#kinds.get(kind.plural)!, namespace, {
			client,
			changed() {},
			failed: end,
		});
		this.#kept.set(key, { view, end, timer });
	}
}

function countWithin(
	objects: readonly NamedObject[],
	maxLength: number,
): number {
	let length = 0;
	const beyond = objects.findIndex((one) => {
		length += one.length;
		return length > maxLength;
	});
	return beyond < 0 ? objects.length : Math.max(1, beyond);
}
