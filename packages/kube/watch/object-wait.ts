import { backoffMs, pause } from "../../service/pause.ts";
import { KubeApiError, type KubeClient } from "../client/client.ts";
import type { KubeObject, ResourceKind } from "../resource.ts";

const watchBackoff = { baseMs: 200, maxMs: 10_000 };
/** A watch that ends sooner was ended by something on the way, which could end all of them. */
const shortMs = 1_000;

/**
 * Watches one object until it `isSettled` or `signal` fires, and returns it as last seen, or undefined after a deletion. A
 * watch that breaks is resumed. Throws as the client does once the apiserver refuses, or has failed for `timeoutMs`.
 */
export async function awaitObject<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	object: T,
	isSettled: (object: T) => boolean,
	signal: AbortSignal,
	timeoutMs = 5 * 60_000,
): Promise<T | undefined> {
	const seen: Sighting<T> = {
		latest: object,
		version: object.metadata.resourceVersion!,
		heardMs: performance.now(),
	};
	let failures = 0;
	while (seen.latest && !isSettled(seen.latest) && !signal.aborted) {
		const startMs = performance.now();
		try {
			await follow(client, kind, seen, isSettled, signal);
		} catch (error) {
			if (signal.aborted) break;
			const silentMs = performance.now() - seen.heardMs;
			if (isFinal(error) || silentMs >= timeoutMs) throw error;
		}
		if (seen.heardMs >= startMs) failures = 0;
		if (performance.now() - startMs >= shortMs) continue;
		if (!seen.latest || isSettled(seen.latest)) break;
		const waitMs = backoffMs(++failures, watchBackoff);
		await pause(waitMs, signal);
	}
	return seen.latest;
}

/** Whether the apiserver has decided about the request, so that a repeat would be refused, too. */
function isFinal(error: unknown): boolean {
	return (
		error instanceof KubeApiError && error.status < 500 && error.status !== 429
	);
}

/** An object as last seen, the resource version from which to watch on, and when the apiserver last sent something. */
interface Sighting<T> {
	/** undefined after a deletion. */
	latest: T | undefined;
	version: string;
	heardMs: number;
}

/** One watch, which notes in `seen` what comes. The apiserver may end it at any time. */
async function follow<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	seen: Sighting<T>,
	isSettled: (object: T) => boolean,
	signal: AbortSignal,
): Promise<void> {
	const scope = scopeOf(seen.latest!);
	const events = client.watch<T>(kind, {
		...scope,
		resourceVersion: seen.version,
		timeoutSeconds: 60,
		silenceMs: 70_000,
		signal,
	});
	try {
		for await (const { type, object } of events) {
			seen.heardMs = performance.now();
			if (type === "DELETED") seen.latest = undefined;
			else {
				seen.version = (object as T).metadata.resourceVersion!;
				if (type !== "BOOKMARK") seen.latest = object as T;
			}
			if (!seen.latest || isSettled(seen.latest)) return;
		}
	} catch (error) {
		if (!(error instanceof KubeApiError && error.status === 410)) throw error;
		// The object's own version dates from its last change and may have expired, too; the list's version is current.
		const { items, metadata } = await client.list<T>(kind, scope);
		const { uid } = seen.latest!.metadata;
		seen.heardMs = performance.now();
		seen.latest = items.find((item) => item.metadata.uid === uid);
		seen.version = metadata.resourceVersion!;
	}
}

function scopeOf({ metadata: { name, namespace } }: KubeObject) {
	return { namespace, fieldSelector: `metadata.name=${name}` };
}
