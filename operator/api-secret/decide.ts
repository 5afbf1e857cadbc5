import { isDeepStrictEqual } from "node:util";
import type { OwnerReference } from "../../packages/kube/resource.ts";
import type { ApiSecretState } from "./state.ts";

export type ApiSecretAction =
	/** Kubernetes removes the Secret together with the last of its owners. */
	| { type: "setOwners"; owners: OwnerReference[] }
	| { type: "remove" }
	/** Reconcile again after this time, even without a change. */
	| { type: "lookAgain"; afterMs: number };

/** The API writes the resource within seconds of its Secret. After this time the write has failed. */
const unwrittenMs = 5 * 60_000;

/**
 * The resources that refer to a Secret own it. A Secret that had an owner and has no referrer was rotated out. One that
 * never had an owner belongs to a write that is under way, or that failed.
 */
export function decide(
	{ secret, referrers }: ApiSecretState,
	now: number,
): ApiSecretAction[] {
	const { creationTimestamp, deletionTimestamp, ownerReferences } =
		secret.metadata;
	if (deletionTimestamp) return [];
	const owners = ownerReferences ?? [];
	if (referrers.length > 0)
		return isDeepStrictEqual(owners, referrers)
			? []
			: [{ type: "setOwners", owners: referrers }];
	if (owners.length > 0) return [{ type: "remove" }];
	const createdMs = Date.parse(creationTimestamp ?? "") || 0;
	// A clock behind the apiserver's must not prolong the wait.
	const waitMs = Math.min(unwrittenMs, createdMs + unwrittenMs - now);
	return [
		waitMs > 0 ? { type: "lookAgain", afterMs: waitMs } : { type: "remove" },
	];
}
