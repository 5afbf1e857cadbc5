import type { KubeObject } from "../../kube/resource.ts";

/** How long until what was refused is tried again: a quarter of the object's age, from 1 s to 1 min. Backoff without memory. */
export function retryWaitMs({ metadata }: KubeObject, now: number): number {
	const waitedMs = now - Date.parse(metadata.creationTimestamp ?? "");
	return Math.min(Math.max(waitedMs / 4, 1_000), 60_000);
}
