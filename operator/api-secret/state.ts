import {
	type Destination,
	destinationKind,
	type Source,
	sourceKind,
} from "../../crds/generated/types.ts";
import { managedByApi } from "../../crds/labels.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import {
	apiVersionOf,
	type KubeObject,
	type ObjectKey,
	type OwnerReference,
	type ResourceKind,
} from "../../packages/kube/resource.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { secretNamesOf } from "../reconcile/informers.ts";
import { secretNames } from "../source/webhook/authorization.ts";

/** All that a decision about one Secret of the REST API rests on. */
export interface ApiSecretState {
	secret: Secret;
	/** The resources that refer to it, as owners. */
	referrers: OwnerReference[];
}

/** Undefined if there is no such Secret, or if the REST API didn't make it. */
export async function readApiSecret(
	{ client, informers }: OperatorContext,
	{ namespace, name }: ObjectKey,
): Promise<ApiSecretState | undefined> {
	const secret = informers.secrets.get(namespace, name);
	if (!secret || !isOfApi(secret)) return undefined;
	const { sources, destinations } = informers;
	const known = referrersOf(
		name,
		sources.list(namespace),
		destinations.list(namespace),
	);
	if (known.length > 0) return { secret, referrers: known };
	// Without a referrer the Secret may be removed, and memory lags behind. So the apiserver is asked.
	const [storedSources, storedDestinations] = await Promise.all([
		client.list<Source>(sourceKind, { namespace }),
		client.list<Destination>(destinationKind, { namespace }),
	]);
	return {
		secret,
		referrers: referrersOf(name, storedSources.items, storedDestinations.items),
	};
}

/** Whether the REST API made a Secret. */
export function isOfApi({ metadata }: KubeObject): boolean {
	return Object.entries(managedByApi).every(
		([name, value]) => metadata.labels?.[name] === value,
	);
}

function referrersOf(
	secret: string,
	sources: Source[],
	destinations: Destination[],
): OwnerReference[] {
	return [
		...sources
			.filter((source) => secretNames(source).includes(secret))
			.map((source) => ownerReference(sourceKind, source)),
		...destinations
			.filter((destination) => secretNamesOf(destination).includes(secret))
			.map((destination) => ownerReference(destinationKind, destination)),
	].sort((a, b) => (a.uid < b.uid ? -1 : 1));
}

/** A plain owner, which neither controls the Secret nor waits for its deletion. */
function ownerReference<T extends KubeObject>(
	kind: ResourceKind<T>,
	{ metadata: { name, uid } }: T,
): OwnerReference {
	return {
		apiVersion: apiVersionOf(kind),
		kind: kind.kind,
		name,
		uid: uid!,
	};
}
