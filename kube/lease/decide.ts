import type { Lease } from "../kinds.ts";

/** A lease as it was first seen with this content, by our own monotonic clock. */
export interface LeaseSighting {
	lease: Lease;
	sinceMs: number;
}

export type LeaseDecision =
	| { action: "create" }
	/** Ours already: say that we are still there. */
	| { action: "renew" }
	/** Free, given back, or not renewed for its whole duration before our eyes. */
	| { action: "take" }
	| { action: "wait"; holder: string };

/**
 * What a candidate does next. A lease is expired only when we watched it unchanged for its duration: the time that
 * its holder wrote is never compared with our clock, for clocks differ (as client-go's leaderelection).
 * @param nowMs of the same monotonic clock as the sighting.
 */
export function decideLease(
	sighting: LeaseSighting | undefined,
	identity: string,
	nowMs: number,
): LeaseDecision {
	if (!sighting) return { action: "create" };
	const { holderIdentity, leaseDurationSeconds = 0 } =
		sighting.lease.spec ?? {};
	if (!holderIdentity) return { action: "take" };
	if (holderIdentity === identity) return { action: "renew" };
	return nowMs - sighting.sinceMs > leaseDurationSeconds * 1000
		? { action: "take" }
		: { action: "wait", holder: holderIdentity };
}

/** The sighting after a look at the lease: its clock starts anew when anything about it changed. */
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
