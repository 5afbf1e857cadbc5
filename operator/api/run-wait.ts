import { type Run, runKind } from "../../crds/generated/types.ts";
import type { KubeClient } from "../kube/client.ts";

/**
 * Follows a Run until it has ended or `signal` fires, and returns it as last seen; undefined when it was deleted.
 * Throws as the client does.
 */
export async function awaitRunEnd(
	client: KubeClient,
	run: Run,
	signal: AbortSignal,
): Promise<Run | undefined> {
	let latest: Run | undefined = run;
	while (latest && !hasEnded(latest) && !signal.aborted) {
		latest = await followUntilEnd(client, latest, signal);
	}
	return latest;
}

/** One watch, which the apiserver may end at any time. */
async function followUntilEnd(
	client: KubeClient,
	run: Run,
	signal: AbortSignal,
): Promise<Run | undefined> {
	const { name, namespace, resourceVersion } = run.metadata;
	let latest = run;
	const events = client.watch<Run>(runKind, {
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
			if (type === "ERROR")
				return await client.get<Run>(runKind, name, namespace);
			if (type !== "BOOKMARK") latest = object as Run;
			if (hasEnded(latest)) break;
		}
	} catch (error) {
		if (!signal.aborted) throw error;
	}
	return latest;
}

function hasEnded({ status }: Run): boolean {
	const phase = status?.phase ?? "Pending";
	return phase !== "Pending" && phase !== "Running";
}
