import { FairLimit } from "../../fair/fair-limit.ts";
import type { Logger } from "../../service/log.ts";
import { backoffMs, pause } from "../../service/pause.ts";
import type { KubeClient, ListScope } from "../client/client.ts";
import { AnswerTooLong, hasReason, KubeApiError } from "../client/errors.ts";
import type { KubeObject, ResourceKind } from "../resource.ts";

/** Where a reflector puts objects, such as a {@link file://./store.ts Store}. */
export interface WatchSink<T extends KubeObject> {
	replace(namespace: string | undefined, objects: T[]): void;
	put(object: T): void;
	remove(object: T): void;
	/** What to hold of an object that came; by default all that this program reads. */
	kept?: ((object: T) => T) | undefined;
}

/** Learns how a reflector is doing. */
export interface WatchListener {
	/** The sink holds everything of the scope. */
	listed(): void;
	/**
	 * This client may not list the scope, one namespace. The sink holds what it last held. Settles when it is worth trying again,
	 * after which there is a short pause.
	 */
	refused(): Promise<void>;
	/** The apiserver sent something, so the sink is current as of now: it holds this version. */
	received(version: string): void;
	/** The apiserver refused or did not answer. It is asked again after a pause. */
	failed?(error: unknown): void;
}

/**
 * Keeps a sink equal to what the apiserver has: lists page by page, then watches from that version on. A watch that ends
 * is resumed where it stopped. When the apiserver has forgotten that version (410), everything is listed again. Only the
 * signal ends it.
 * @param held the version that the sink holds already, from which to watch on; undefined to list first
 */
export async function reflect<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	scope: ListScope,
	sink: WatchSink<T>,
	listener: WatchListener,
	log: Logger,
	signal: AbortSignal,
	held?: string,
): Promise<void> {
	let version = held;
	let failures = 0;
	const kept = (object: T) => sink.kept?.(object) ?? withoutHistory(object);
	while (!signal.aborted) {
		try {
			if (version === undefined) {
				const list = await listAll(client, kind, scope, kept);
				if (signal.aborted) return;
				sink.replace(scope.namespace, list.items);
				version = list.version;
				listener.received(version);
				listener.listed();
			}
			for await (const seen of watchFrom(
				client,
				kind,
				scope,
				version,
				{
					put: (object) => sink.put(kept(object)),
					remove: sink.remove.bind(sink),
				},
				signal,
			)) {
				version = seen;
				failures = 0;
				listener.received(version);
			}
			failures = 0;
		} catch (error) {
			if (signal.aborted) return;
			const expired = error instanceof KubeApiError && error.status === 410;
			if (expired) version = undefined;
			// One namespace's binding is missing, or gone with its namespace. The others go on: what memory has of this one
			// stays, and whoever asks the apiserver is refused.
			const isRefused =
				scope.namespace !== undefined && hasReason(error, "Forbidden");
			failures++;
			const waitMs =
				(error instanceof KubeApiError && error.retryAfterMs) ||
				backoffMs(failures, watchBackoff);
			log[expired ? "debug" : "warn"](
				{ err: error, kind: kind.kind, retryInMs: Math.round(waitMs) },
				expired ? "listing a kind again" : "the watch of a kind failed",
			);
			listener.failed?.(error);
			if (isRefused) await listener.refused();
			await pause(waitMs, signal);
		}
	}
}

const pageSize = 500;
/**
 * Of a page's text. One object may have 1.5 MB, so a page of 500 could be as large as a process may be: a page beyond this is asked
 * for again in smaller pages. One object is taken whatever it has: etcd's limit bounds it.
 */
const maxPageLength = 2 * 1024 ** 2;
/** Of all kinds and clusters. While a page is parsed, it takes several times its text. */
const pagesAtOnce = new FairLimit({ atOnce: 2 });
const watchBackoff = { baseMs: 200, maxMs: 30_000 };
/** Bookmarks come about once a minute (k8s.io/apiserver cacher), so this much silence means a dead connection. */
const silenceMs = 150_000;

/**
 * All objects of a scope, in pages that are bounded in bytes: whoever may write them may make each as large as etcd takes.
 * @param kept what to hold of each.
 */
export async function listAll<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	scope: ListScope,
	kept: (object: T) => T,
): Promise<{ items: T[]; version: string }> {
	const items: T[] = [];
	let limit = pageSize;
	let next: string | undefined;
	for (;;) {
		const found = await pagesAtOnce.run(kind.plural, async () => {
			const maxLength = limit > 1 ? maxPageLength : undefined;
			try {
				const page = await client.list(kind, {
					...scope,
					...{ limit, continue: next, maxLength },
				});
				items.push(...page.items.map(kept));
				return page.metadata ?? {};
			} catch (error) {
				if (!(error instanceof AnswerTooLong)) throw error;
				return undefined;
			}
		});
		if (!found) {
			limit = Math.max(1, limit >> 3);
			continue;
		}
		limit = Math.min(pageSize, limit * 2);
		next = found.continue || undefined;
		// Every page has the version of the first page.
		if (!next) return { items, version: found.resourceVersion! };
	}
}

/** One watch. Yields the sink's version after each event. Throws {@link KubeApiError} for an ERROR event. */
async function* watchFrom<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	scope: ListScope,
	version: string,
	sink: Pick<WatchSink<T>, "put" | "remove">,
	signal: AbortSignal,
): AsyncGenerator<string> {
	const events = client.watch(kind, {
		...scope,
		resourceVersion: version,
		// Random, so that the watches of a fleet end at different times (as client-go does).
		timeoutSeconds: Math.round(300 * (1 + Math.random())),
		silenceMs,
		signal,
	});
	const startMs = performance.now();
	let hasReceived = false;
	for await (const { type, object } of events) {
		hasReceived = true;
		if (type === "DELETED") sink.remove(object as T);
		else if (type !== "BOOKMARK") sink.put(object as T);
		yield (object as T).metadata.resourceVersion!;
	}
	// Something on the way ends every watch at once, so back off.
	if (!hasReceived && performance.now() - startMs < 1000)
		throw new Error("the watch ended as soon as it started");
}

/**
 * Drops what nothing here reads: managedFields, often the larger half of an object, and kubectl's copy of the whole object,
 * which repeats a Secret's data.
 */
export function withoutHistory<T extends KubeObject>(object: T): T {
	const { metadata } = object;
	delete metadata.managedFields;
	delete metadata.annotations?.[
		"kubectl.kubernetes.io/last-applied-configuration"
	];
	return object;
}
