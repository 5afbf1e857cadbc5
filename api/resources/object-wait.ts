import { ApiError, type KubeClient } from "../../kube/client/client.ts";
import type { KubeObject, ResourceKind } from "../../kube/resource.ts";

/** What is known of an object, and the version of the apiserver's state from which it is followed on. */
interface Sighting<T> {
	/** undefined when it was deleted. */
	latest: T | undefined;
	version: string;
}

/**
 * Follows an object until it `isSettled` or `signal` fires, and returns it as last seen; undefined when it was deleted.
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

/** One watch, which the apiserver may end at any time. */
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
			return lookAnew(client, kind, latest);
		if (!signal.aborted) throw error;
	}
	return { latest, version };
}

/**
 * The apiserver doesn't know the version any more. The object's own is of its last change, which may be long ago, and
 * would be refused again and again: it is the list's that is of now.
 */
async function lookAnew<T extends KubeObject>(
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
