import { ApiError, type KubeClient } from "../client/client.ts";
import type { KubeObject, ResourceKind } from "../resource.ts";

/**
 * Watches one object until it `isSettled` or `signal` fires, and returns it as last seen, or undefined after a deletion.
 * Throws as the client does.
 */
export async function awaitObject<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	object: T,
	isSettled: (object: T) => boolean,
	signal: AbortSignal,
): Promise<T | undefined> {
	let { latest, version }: Sighting<T> = {
		latest: object,
		version: object.metadata.resourceVersion!,
	};
	while (latest && !isSettled(latest) && !signal.aborted)
		({ latest, version } = await follow(
			client,
			kind,
			{ latest, version },
			isSettled,
			signal,
		));
	return latest;
}

/** An object as last seen, and the resource version from which to watch on. */
interface Sighting<T> {
	/** undefined after a deletion. */
	latest: T | undefined;
	version: string;
}

/** One watch. The apiserver may end it at any time. */
async function follow<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	{ latest, version }: { latest: T; version: string },
	isSettled: (object: T) => boolean,
	signal: AbortSignal,
): Promise<Sighting<T>> {
	const events = client.watch<T>(kind, {
		...scopeOf(latest),
		resourceVersion: version,
		timeoutSeconds: 60,
		silenceMs: 70_000,
		signal,
	});
	try {
		for await (const { type, object } of events) {
			if (type === "DELETED") return { latest: undefined, version };
			version = (object as T).metadata.resourceVersion!;
			if (type !== "BOOKMARK") latest = object as T;
			if (isSettled(latest)) break;
		}
	} catch (error) {
		if (error instanceof ApiError && error.status === 410)
			return relist(client, kind, latest);
		if (!signal.aborted) throw error;
	}
	return { latest, version };
}

/**
 * For a version that has expired (410). The object's own version dates from its last change and may have expired too;
 * the list's version is current.
 */
async function relist<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	object: T,
): Promise<Sighting<T>> {
	const { items, metadata } = await client.list<T>(kind, scopeOf(object));
	return {
		latest: items.find(({ metadata: { uid } }) => uid === object.metadata.uid),
		version: metadata.resourceVersion!,
	};
}

function scopeOf({ metadata: { name, namespace } }: KubeObject) {
	return { namespace, fieldSelector: `metadata.name=${name}` };
}
