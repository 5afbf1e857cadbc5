import type { KubeObject } from "../packages/kube/resource.ts";
import { annotation } from "./labels.ts";

/**
 * What each installation of a cluster claims for itself: its watched namespaces (`*` for all), and a NATS or a bucket that it
 * doesn't bring along. The operator's Lease carries the claims, so every operator and `tidemill doctor` can see them.
 */
export interface InstallationClaims {
	/** `<namespace>/<name>` of the operator's Lease. */
	installation: string;
	/** What is claimed → since when, RFC 3339 in UTC with milliseconds. */
	since: Record<string, string>;
}

/** The Leases that carry claims. */
export const operatorLeaseLabels = {
	"app.kubernetes.io/part-of": "tidemill",
	"app.kubernetes.io/component": "operator",
};
export const operatorLeaseSelector = Object.entries(operatorLeaseLabels)
	.map(([name, value]) => `${name}=${value}`)
	.join();

export const allNamespaces = "*";

/** Two installations claim the same. Whoever was first has it. */
export interface InstallationOverlap {
	/** A namespace, `*`, or the address of a NATS or a bucket. */
	claim: string;
	/** The other installation. */
	other: string;
	/** Whether this installation has it. */
	isOurs: boolean;
}

/** Undefined if the Lease carries none, or something else. */
export function claimsOf({
	metadata,
}: KubeObject): InstallationClaims | undefined {
	const text = metadata.annotations?.[annotation.claims];
	if (text === undefined) return undefined;
	try {
		const since: unknown = JSON.parse(text);
		if (typeof since !== "object" || since === null) return undefined;
		const valid = Object.entries(since).filter(
			([, time]) => typeof time === "string",
		);
		return {
			installation: `${metadata.namespace}/${metadata.name}`,
			since: Object.fromEntries(valid),
		};
	} catch {
		return undefined;
	}
}

/** Every claim that another installation has as well, by the claim's name and then by the other's. */
export function overlapsOf(
	own: InstallationClaims,
	others: readonly InstallationClaims[],
): InstallationOverlap[] {
	return others
		.filter(({ installation }) => installation !== own.installation)
		.flatMap((other) =>
			Object.entries(own.since).flatMap(([ours, ourSince]) =>
				Object.entries(other.since).flatMap(([theirs, theirSince]) => {
					const claim = commonClaim(ours, theirs);
					if (claim === undefined) return [];
					const isOurs =
						ourSince === theirSince
							? own.installation < other.installation
							: ourSince < theirSince;
					return [{ claim, other: other.installation, isOurs }];
				}),
			),
		)
		.toSorted((a, b) =>
			`${a.claim} ${a.other}` < `${b.claim} ${b.other}` ? -1 : 1,
		);
}

/** What two claims have in common. `*` has every namespace, and no address. */
export function commonClaim(one: string, other: string): string | undefined {
	if (one === other) return one;
	if (one === allNamespaces && isNamespace(other)) return other;
	return other === allNamespaces && isNamespace(one) ? one : undefined;
}

/** A namespace's name is a DNS label, and an address has a scheme. */
export function isNamespace(claim: string): boolean {
	return !claim.includes(":");
}
