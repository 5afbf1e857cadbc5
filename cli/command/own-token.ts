import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeConfig } from "@kubernetes/client-node";
import { hasRight } from "../../api/caller/account.ts";
import {
	bindingOf,
	labelsOf,
	objectName,
	type TokenScope,
	tokenScopes,
} from "../../api/resources/token.ts";
import { requestToken } from "../../api/resources/tokens.ts";
import { annotation, label, managedByApi } from "../../crds/labels.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { hasReason } from "../../packages/kube/client/errors.ts";
import { ownUser } from "../../packages/kube/client/self-review.ts";
import { tokenClients } from "../../packages/kube/client/token-clients.ts";
import {
	kinds,
	type RoleBinding,
	type Secret,
	type ServiceAccount,
} from "../../packages/kube/kinds.ts";
import {
	apiVersionOf,
	type KubeObject,
	type ObjectDraft,
	type ResourceKind,
} from "../../packages/kube/resource.ts";

const lifeSeconds = 900;
/** No more than the built-in role `edit` of the namespace could take for itself. Who may not give the first gets the second. */
const scopes = ["edit", "read"] as const satisfies TokenScope[];
/** The apiserver counts a new binding a moment later. */
const settling = { most: 50, pauseMs: 100 };

/** A person's own ServiceAccount in a namespace, and what belongs to it. All have this name. */
interface TokenPlace {
	client: KubeClient;
	namespace: string;
	name: string;
}

export interface OwnToken {
	token: string;
	/** RFC 3339. */
	expires: string;
}

/**
 * A token of 15 minutes with the rights of the role tidemill-editor in the namespace, or else of tidemill-viewer, made with the
 * person's own kubeconfig: Kubernetes decides whether they may, and its escalation check which of these rights they have. All
 * commands of one person share its ServiceAccount. That and its binding are owned by an empty Secret, which the operator removes once the token that expires
 * last has expired (decision 46), whether or not this command still runs. Throws KubeApiError if they may not.
 *
 * @param anew doesn't trust what is there: a token of it was refused.
 */
export async function makeOwnToken(
	{ client, namespace, config }: OwnTokenIssuer,
	anew: boolean,
): Promise<OwnToken> {
	const place = { client, namespace, name: await ownName(client) };
	const scope = await grantable(place);
	const kept = anew ? undefined : await prolonged(place, scope);
	if (kept) return kept;
	const secret = await ensureSecret(place);
	try {
		const account = await ensureAccount(place, secret, scope);
		const made = await issue(place);
		await ensureBinding(place, account, scope, made.expires);
		await untilPermitted(place, config, made.token, scope);
		return made;
	} catch (error) {
		// Kubernetes removes with it what it owns.
		await client
			.delete(kinds.secret, place.name, namespace, {
				uid: secret.metadata.uid,
			})
			.catch(() => undefined);
		throw error;
	}
}

export interface OwnTokenIssuer {
	client: KubeClient;
	namespace: string;
	config: KubeConfig;
}

/** The same for each command of a person. */
async function ownName(client: KubeClient): Promise<string> {
	const { username } = await ownUser(client);
	return objectName(`cli-${hash("sha256", username).slice(0, 10)}`);
}

function issue({ client, namespace, name }: TokenPlace): Promise<OwnToken> {
	return requestToken({ client, account: namespace }, name, lifeSeconds);
}

/** The first scope whose role the person may bind now, which the apiserver says without storing anything. Throws what it said of the first. */
async function grantable(place: TokenPlace): Promise<TokenScope> {
	const account = {
		...{ apiVersion: "v1", kind: "ServiceAccount" },
		// No uid is needed for the answer.
		metadata: { ...metadataOf(place), uid: "0" },
	};
	let refusal: unknown;
	for (const scope of scopes) {
		try {
			await place.client.create<RoleBinding>(
				kinds.roleBinding,
				bindingOf(account, scope, {}),
				{ fieldManager: "tidemill", dryRun: true },
			);
			return scope;
		} catch (error) {
			if (hasReason(error, "AlreadyExists")) return scope;
			if (!hasReason(error, "Forbidden")) throw error;
			refusal ??= error;
		}
	}
	throw refusal;
}

/** One more token of the ServiceAccount that is there with that scope. Its binding first says so, and then stays as long. */
async function prolonged(
	place: TokenPlace,
	scope: TokenScope,
): Promise<OwnToken | undefined> {
	const { client, namespace, name } = place;
	const expires = new Date(Date.now() + lifeSeconds * 1_000).toISOString();
	const binding = await client.get<RoleBinding>(
		kinds.roleBinding,
		name,
		namespace,
	);
	if (!binding?.metadata.labels?.[label.token]) return undefined;
	if (binding.roleRef.name !== tokenScopes[scope]) return undefined;
	try {
		await keepUntil(place, expires);
		return await issue(place);
	} catch (error) {
		// The operator has just removed it.
		if (!hasReason(error, "NotFound")) throw error;
		return undefined;
	}
}

/** The Secret holds nothing. The label lets the operator, which may remove Secrets and no ServiceAccounts, see it. */
function ensureSecret(place: TokenPlace): Promise<Secret> {
	const labels = { ...managedByApi, [label.use]: "true" };
	return ensure<Secret>(
		place,
		kinds.secret,
		{ metadata: { ...metadataOf(place), labels }, type: "Opaque" },
		() => true,
	);
}

function ensureAccount(
	place: TokenPlace,
	{ metadata: { name, uid } }: Secret,
	scope: TokenScope,
): Promise<ServiceAccount> {
	return ensure<ServiceAccount>(
		place,
		kinds.serviceAccount,
		{
			metadata: {
				...metadataOf(place),
				labels: labelsOf(scope),
				ownerReferences: [
					{
						...{ apiVersion: apiVersionOf(kinds.secret), kind: "Secret" },
						...{ name, uid: uid! },
					},
				],
			},
			automountServiceAccountToken: false,
		},
		({ metadata }) => isOwnedBy(metadata, uid),
	);
}

async function ensureBinding(
	place: TokenPlace,
	account: ServiceAccount,
	scope: TokenScope,
	expires: string,
): Promise<void> {
	const wanted = bindingOf(account, scope, {
		[annotation.tokenExpires]: expires,
	});
	const { metadata } = await ensure<RoleBinding>(
		place,
		kinds.roleBinding,
		wanted,
		({ metadata, roleRef }) =>
			isOwnedBy(metadata, account.metadata.uid) &&
			roleRef.name === wanted.roleRef.name,
	);
	if (metadata.annotations?.[annotation.tokenExpires] !== expires)
		await keepUntil(place, expires);
}

/** The operator leaves all of it until then. */
async function keepUntil(
	{ client, namespace, name }: TokenPlace,
	expires: string,
): Promise<void> {
	const annotations = { [annotation.tokenExpires]: expires };
	const change = { metadata: { annotations } };
	await client.patch(kinds.roleBinding, name, namespace, change, "merge");
}

function metadataOf({ namespace, name }: TokenPlace) {
	return { name, namespace };
}

function isOwnedBy(
	{ ownerReferences = [] }: KubeObject["metadata"],
	uid: string | undefined,
): boolean {
	return ownerReferences.some((owner) => owner.uid === uid);
}

/** Creates it, or returns what another command of the person has just created; what is neither gives way. */
async function ensure<T extends KubeObject>(
	{ client, namespace, name }: TokenPlace,
	kind: ResourceKind<T>,
	wanted: ObjectDraft<T>,
	isOurs: (there: T) => boolean,
): Promise<T> {
	const create = () =>
		client.create<T>(kind, wanted, { fieldManager: "tidemill" });
	try {
		return await create();
	} catch (error) {
		if (!hasReason(error, "AlreadyExists")) throw error;
	}
	const there = await client.get<T>(kind, name, namespace);
	if (there && !there.metadata.deletionTimestamp && isOurs(there)) return there;
	if (there)
		await client.delete(kind, name, namespace, { uid: there.metadata.uid });
	return create();
}

async function untilPermitted(
	{ namespace }: TokenPlace,
	config: KubeConfig,
	token: string,
	scope: TokenScope,
): Promise<void> {
	const client = tokenClients(config.getCurrentCluster()!)(token);
	const subresource = scope === "edit" ? "bodies" : "events";
	const right = { verb: "get", resource: "sources", subresource };
	for (let look = 0; look < settling.most; look++) {
		if (await hasRight(client, namespace, right).catch(() => false)) return;
		await sleep(settling.pauseMs);
	}
}
