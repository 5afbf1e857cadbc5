import {
	allNamespaces,
	commonClaim,
	type InstallationClaims,
	type InstallationOverlap,
	isNamespace,
} from "../crds/installation-claims.ts";

/** The namespaces that an operator serves, as its informers need to know them. */
export interface ServedNamespaces {
	/** All but {@link except} if undefined. */
	namespaces: string[] | undefined;
	except: string[];
}

/**
 * What this installation is to claim. A claim keeps its time. A new one comes after every claim of others on the same, so a
 * clock that is behind takes nothing away from them.
 * @param before what it claims so far.
 */
export function claimsToHave(
	before: InstallationClaims,
	wanted: readonly string[],
	others: readonly InstallationClaims[],
	nowMs: number,
): InstallationClaims {
	const { installation } = before;
	const theirs = others
		.filter((other) => other.installation !== installation)
		.flatMap(({ since }) => Object.entries(since));
	const since = wanted.map((claim) => {
		const times = theirs
			.filter(([name]) => commonClaim(claim, name) !== undefined)
			.map(([, time]) => Date.parse(time) + 1 || 0);
		const sinceMs = Math.max(nowMs, ...times);
		return [claim, before.since[claim] ?? new Date(sinceMs).toISOString()];
	});
	return { installation, since: Object.fromEntries(since) };
}

/**
 * Which of the wanted namespaces this installation serves: all but those that another one claimed first. With a NATS or a bucket
 * that another one claimed first, it serves none: the two would remove each other's routes, or read each other's records.
 */
export function servedNamespaces(
	wanted: readonly string[],
	overlaps: readonly InstallationOverlap[],
): ServedNamespaces {
	const lost = overlaps
		.filter(({ isOurs }) => !isOurs)
		.map(({ claim }) => claim);
	const namespaces = wanted.filter(isNamespace);
	if (lost.some((claim) => !isNamespace(claim) || claim === allNamespaces))
		return { namespaces: [], except: [] };
	return namespaces.includes(allNamespaces)
		? { namespaces: undefined, except: [...new Set(lost)] }
		: {
				namespaces: namespaces.filter((name) => !lost.includes(name)),
				except: [],
			};
}
