import { isDeepStrictEqual } from "node:util";
import {
	type Destination,
	destinationKind,
	type Source,
	sourceKind,
} from "../crds/generated/types.ts";
import {
	annotation,
	fieldManager,
	label,
	managedByApi,
	ownTokenName,
} from "../crds/labels.ts";
import type { KubeClient } from "../packages/kube/client/client.ts";
import {
	kinds,
	type RoleBinding,
	type Secret,
} from "../packages/kube/kinds.ts";
import {
	ControllerLoop,
	type ReconcileResult,
	soonest,
} from "../packages/kube/reconcile/controller.ts";
import {
	apiVersionOf,
	type KubeObject,
	keyOf,
	type ObjectKey,
	type OwnerReference,
	type ResourceKind,
} from "../packages/kube/resource.ts";
import { listAll } from "../packages/kube/watch/reflector.ts";
import type { OperatorContext } from "./reconcile/context.ts";
import { heldDestination, ownKind } from "./reconcile/held.ts";
import { secretNamesOf } from "./reconcile/informers.ts";
import { secretNames } from "./source/routes/authorization.ts";

/**
 * Keeps the owners of the Secrets that the REST API makes, and removes unused ones, as well as those that own what the command line's
 * tokens need (decision 46). The loop doesn't run yet.
 */
export function createApiSecretController(
	context: OperatorContext,
): ControllerLoop {
	const { client, informers, log } = context;
	const loop = new ControllerLoop(
		{
			name: "api-secret",
			reconcile: async (key, { now }) => {
				const state = await readApiSecret(context, key);
				if (!state) return undefined;
				const actions = decide(state, now);
				return applyApiSecret(client, state.secret, actions);
			},
		},
		{ log },
	);
	loop.watch(informers.secrets, (secret) =>
		isOfApi(secret) ? [keyOf(secret)] : [],
	);
	// They have one name.
	loop.watch(informers.roleBindings, (binding) =>
		isOfToken(binding) ? [keyOf(binding)] : [],
	);
	const named = ({ metadata }: KubeObject, names: string[]) =>
		names.map((name) => ({ namespace: metadata.namespace!, name }));
	loop.watch(informers.sources, (source) => named(source, secretNames(source)));
	loop.watch(informers.destinations, (destination) =>
		named(destination, secretNamesOf(destination)),
	);
	return loop;
}

export type ApiSecretAction =
	/** Kubernetes removes the Secret together with the last of its owners. */
	| { type: "setOwners"; owners: OwnerReference[] }
	| { type: "remove" }
	/** Reconcile again after this time, even without a change. */
	| { type: "requeueAfter"; afterMs: number };

/** The API writes the resource within seconds of its Secret. After this time the write has failed. */
const unwrittenMs = 5 * 60_000;

/**
 * The resources that refer to a Secret own it. A Secret that had an owner and has no referrer was rotated out. One that
 * never had an owner belongs to a write that is under way, or that failed.
 */
export function decide(
	{ secret, referrers, tokenExpiresMs }: ApiSecretState,
	now: number,
): ApiSecretAction[] {
	const { creationTimestamp, deletionTimestamp, ownerReferences } =
		secret.metadata;
	if (deletionTimestamp) return [];
	if (tokenExpiresMs !== undefined)
		return tokenExpiresMs > now
			? [{ type: "requeueAfter", afterMs: tokenExpiresMs - now }]
			: [{ type: "remove" }];
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
		waitMs > 0 ? { type: "requeueAfter", afterMs: waitMs } : { type: "remove" },
	];
}

/** All that a decision about one Secret of the REST API rests on. */
export interface ApiSecretState {
	secret: Secret;
	/** The resources that refer to it, as owners. */
	referrers: OwnerReference[];
	/** When the last token expires that needs what it owns; undefined if it owns nothing of tokens, or nobody says when. */
	tokenExpiresMs?: number;
}

/** Undefined if there is no such Secret, or if the REST API didn't make it. */
export async function readApiSecret(
	{ client, informers }: OperatorContext,
	{ namespace, name }: ObjectKey,
): Promise<ApiSecretState | undefined> {
	const secret = informers.secrets.get(namespace, name);
	if (!secret || !isOfApi(secret)) return undefined;
	if (isOfToken(secret)) {
		// Asked, because memory lags behind a token that was just renewed.
		const binding = await client.get<RoleBinding>(
			kinds.roleBinding,
			name,
			namespace,
			{ metadataOnly: true },
		);
		const expires = binding?.metadata.annotations?.[annotation.tokenExpires];
		const tokenExpiresMs = Date.parse(expires ?? "");
		return {
			...{ secret, referrers: [] },
			...(!Number.isNaN(tokenExpiresMs) && { tokenExpiresMs }),
		};
	}
	const { sources, destinations } = informers;
	const known = referrersOf(
		name,
		sources.list(namespace),
		destinations.list(namespace),
	);
	if (known.length > 0) return { secret, referrers: known };
	// Without a referrer the Secret may be removed, and memory lags behind. So the apiserver is asked.
	const scope = { namespace };
	const [storedSources, storedDestinations] = await Promise.all([
		listAll(client, sourceKind, scope, ownKind<Source>),
		listAll(client, destinationKind, scope, heldDestination),
	]);
	return {
		secret,
		referrers: referrersOf(name, storedSources.items, storedDestinations.items),
	};
}

/** Whether the REST API made a Secret. */
export function isOfApi({ metadata }: KubeObject): boolean {
	const marks = { ...managedByApi, [label.use]: "true" };
	return Object.entries(marks).every(
		([name, value]) => metadata.labels?.[name] === value,
	);
}

/** Whether it belongs to the tokens that the command line makes for itself. */
function isOfToken({ metadata }: KubeObject): boolean {
	return ownTokenName.test(metadata.name);
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

/** Does what was decided. Throws `Conflict` if the Secret has changed since it was read. */
export async function applyApiSecret(
	client: KubeClient,
	{ metadata: { name, namespace, uid, resourceVersion } }: Secret,
	actions: ApiSecretAction[],
): Promise<ReconcileResult | undefined> {
	let result: ReconcileResult | undefined;
	for (const action of actions)
		switch (action.type) {
			case "setOwners":
				await client.patch(
					kinds.secret,
					name,
					namespace,
					{ metadata: { ownerReferences: action.owners, resourceVersion } },
					"merge",
					{ fieldManager },
				);
				break;
			case "remove":
				await client.delete(kinds.secret, name, namespace, {
					uid,
					resourceVersion,
				});
				break;
			case "requeueAfter":
				result = soonest(result, action.afterMs);
		}
	return result;
}
