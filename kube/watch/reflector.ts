import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../service/log.ts";
import { backoffMs } from "../backoff.ts";
import type { KubeClient, Scope } from "../client/client.ts";
import { ApiError } from "../client/errors.ts";
import type { KubeObject, ObjectMeta, ResourceKind } from "../resource.ts";

/** What a reflector fills: {@link file://./store.ts Store} is one. */
export interface Sink<T extends KubeObject> {
	replace(namespace: string | undefined, objects: T[]): void;
	put(object: T): void;
	remove(object: T): void;
}

/** Is told how a reflector fares. */
export interface Hearing {
	/** Everything is in the sink as the apiserver had it. */
	listed(): void;
	/** The apiserver spoke: what is in the sink is as it was at this moment. */
	heard(): void;
}

/**
 * Keeps a sink equal to what the apiserver has: lists page by page, then watches from that version on, for ever. A watch
 * that ends is taken up where it stopped; when the apiserver doesn't know that version any more (410), everything is
 * listed anew. Ends only by the signal.
 */
export async function reflect<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	scope: Scope,
	sink: Sink<T>,
	hearing: Hearing,
	log: Logger,
	signal: AbortSignal,
): Promise<void> {
	let version: string | undefined;
	let failures = 0;
	while (!signal.aborted) {
		try {
			if (version === undefined) {
				const list = await listAll(client, kind, scope);
				sink.replace(scope.namespace, list.items.map(trimmed));
				version = list.version;
				hearing.heard();
				hearing.listed();
			}
			for await (const seen of watchFrom(
				client,
				kind,
				scope,
				version,
				sink,
				signal,
			)) {
				version = seen;
				failures = 0;
				hearing.heard();
			}
			failures = 0;
		} catch (error) {
			if (signal.aborted) return;
			const expired = error instanceof ApiError && error.status === 410;
			if (expired) version = undefined;
			failures++;
			const waitMs =
				(error instanceof ApiError && error.retryAfterMs) ||
				backoffMs(failures, watchBackoff);
			log[expired ? "debug" : "warn"](
				{ err: error, kind: kind.kind, retryInMs: Math.round(waitMs) },
				expired ? "listing a kind anew" : "lost sight of a kind",
			);
			await sleep(waitMs, undefined, { signal }).catch(() => {});
		}
	}
}

const pageSize = 500;
const watchBackoff = { baseMs: 200, maxMs: 30_000 };
/** Bookmarks come about once a minute (k8s.io/apiserver cacher), so this much silence is a dead connection. */
const silenceMs = 150_000;

async function listAll<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	scope: Scope,
): Promise<{ items: T[]; version: string }> {
	const items: T[] = [];
	let next: string | undefined;
	for (;;) {
		const page = await client.list(kind, {
			...scope,
			limit: pageSize,
			continue: next,
		});
		items.push(...page.items);
		next = page.metadata.continue || undefined;
		// Every page has the version of the first one.
		if (!next) return { items, version: page.metadata.resourceVersion! };
	}
}

/** One watch. Yields the version that the sink is at, after each event. Throws {@link ApiError} for an ERROR event. */
async function* watchFrom<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	scope: Scope,
	version: string,
	sink: Sink<T>,
	signal: AbortSignal,
): AsyncGenerator<string> {
	const events = client.watch(kind, {
		...scope,
		resourceVersion: version,
		// Random, so that not all watches of a fleet end at once (as client-go does).
		timeoutSeconds: Math.round(300 * (1 + Math.random())),
		silenceMs,
		signal,
	});
	const startMs = performance.now();
	let heard = false;
	for await (const { type, object } of events) {
		heard = true;
		if (type === "DELETED") sink.remove(object as T);
		else if (type !== "BOOKMARK") sink.put(trimmed(object as T));
		yield (object as T).metadata.resourceVersion!;
	}
	// Something between here and the apiserver lets no watch live: come back slowly.
	if (!heard && performance.now() - startMs < 1000)
		throw new Error("the watch ended as soon as it began");
}

/**
 * Nothing here reads what it leaves out: who manages which field, often the larger half of an object, and kubectl's copy
 * of the whole, in which a Secret's data stands as well.
 */
function trimmed<T extends KubeObject>(object: T): T {
	const metadata: ObjectMeta & { managedFields?: unknown } = object.metadata;
	delete metadata.managedFields;
	delete metadata.annotations?.[
		"kubectl.kubernetes.io/last-applied-configuration"
	];
	return object;
}
