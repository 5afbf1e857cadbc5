import type { KubeObject } from "../../packages/kube/resource.ts";

/**
 * How much longer a new object may wait for what it refers to, in milliseconds. People apply several resources at once,
 * and they arrive one by one. Until the grace is over, a missing reference leaves `Ready` Unknown and warns nobody.
 */
export function remainingGraceMs(
	{ metadata }: KubeObject,
	now: number,
): number {
	const createdMs = Date.parse(metadata.creationTimestamp ?? "") || 0;
	// A clock behind the apiserver's must not prolong the grace.
	return Math.min(graceMs, Math.max(0, createdMs + graceMs - now));
}

const graceMs = 30_000;
