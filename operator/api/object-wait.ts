import type { KubeClient } from "../kube/client.ts";
import type { KubeObject, ResourceKind } from "../kube/resource.ts";

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
	let latest: T | undefined = object;
	while (latest && !isSettled(latest) && !signal.aborted)
		latest = await follow(client, kind, latest, isSettled, signal);
	return latest;
}

/** One watch, which the apiserver may end at any time. */
async function follow<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	object: T,
	isSettled: (object: T) => boolean,
	signal: AbortSignal,
): Promise<T | undefined> {
	const { name, namespace, resourceVersion } = object.metadata;
	let latest = object;
	const events = client.watch<T>(kind, {
		namespace,
		fieldSelector: `metadata.name=${name}`,
		resourceVersion: resourceVersion!,
		timeoutSeconds: 60,
		silenceMs: 70_000,
		signal,
	});
	try {
		for await (const { type, object } of events) {
			if (type === "DELETED") return undefined;
			// The resourceVersion is too old to go on from (410): start from now.
			if (type === "ERROR") return await client.get<T>(kind, name, namespace);
			if (type !== "BOOKMARK") latest = object as T;
			if (isSettled(latest)) break;
		}
	} catch (error) {
		if (!signal.aborted) throw error;
	}
	return latest;
}
