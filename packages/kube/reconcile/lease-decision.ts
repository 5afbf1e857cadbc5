import type { Lease } from "../kinds.ts";

/** A lease, and when we first saw it with this content, by our own monotonic clock. */
export interface LeaseSighting {
	lease: Lease;
	sinceMs: number;
}

/**
 * What a candidate does next. A lease expires only after we have seen it unchanged for its whole duration. Clocks differ, so
 * the time that the owner wrote is never compared with ours (as client-go's leaderelection).
 * @param nowMs from the monotonic clock of the sighting.
 */
export function decideLease(
	sighting: LeaseSighting | undefined,
	identity: string,
	nowMs: number,
):
	| { action: "create" }
	/** We hold it. */
	| { action: "renew" }
	/** It is free, was released, or expired while we watched. */
	| { action: "take" }
	| { action: "wait"; owner: string } {
	if (!sighting) return { action: "create" };
	const { holderIdentity, leaseDurationSeconds = 0 } =
		sighting.lease.spec ?? {};
	if (!holderIdentity) return { action: "take" };
	if (holderIdentity === identity) return { action: "renew" };
	return nowMs - sighting.sinceMs > leaseDurationSeconds * 1000
		? { action: "take" }
		: { action: "wait", owner: holderIdentity };
}

/** The sighting after a look at the lease. Its clock restarts when the lease has changed. */
export function sight(
	before: LeaseSighting | undefined,
	lease: Lease | undefined,
	nowMs: number,
): LeaseSighting | undefined {
	if (!lease) return undefined;
	const unchanged =
		before?.lease.metadata.uid === lease.metadata.uid &&
		before?.lease.metadata.resourceVersion === lease.metadata.resourceVersion;
	return unchanged ? before : { lease, sinceMs: nowMs };
}
