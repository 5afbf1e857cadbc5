import type { KubeObject } from "../../kube/resource.ts";

/**
 * What is applied together comes one after the other. For so many milliseconds more, something that an object refers to
 * may be on its way: that it is missing is no fault yet, `Ready` is Unknown, and nobody is warned.
 */
export function settlingMs({ metadata }: KubeObject, now: number): number {
	const createdMs = Date.parse(metadata.creationTimestamp ?? "") || 0;
	// A clock that is behind the apiserver's mustn't make it longer.
	return Math.min(graceMs, Math.max(0, createdMs + graceMs - now));
}

const graceMs = 30_000;
