import { inUseFinalizer } from "../../crds/labels.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { hasReason, unless } from "../../packages/kube/client/errors.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";

/** How many users a message names. */
const namedUsers = 5;

/** What refers to a resource of a kind, and where: its deletion would break them. */
export interface ResourceUser {
	kind: ResourceKind<KubeObject>;
	nouns: string;
	field: string;
}

/** `the pipelines "a", "b"` that refer to a resource; undefined if none does. Those that the caller may not list don't count. */
export async function usersOf(
	client: KubeClient,
	users: readonly ResourceUser[],
	{ name, namespace }: { name: string; namespace: string },
): Promise<string | undefined> {
	for (const { kind, nouns, field } of users) {
		const found = await unless(
			client.list(kind, {
				namespace,
				fieldSelector: `${field}=${name}`,
				metadataOnly: true,
				limit: namedUsers + 1,
			}),
			"Forbidden",
		);
		const names = (found?.items ?? []).map(
			({ metadata }) => `"${metadata.name}"`,
		);
		if (names.length === 0) continue;
		const more = names.length > namedUsers ? " and others" : "";
		return `the ${nouns} ${names.slice(0, namedUsers).join(", ")}${more}`;
	}
	return undefined;
}

/**
 * Takes the finalizer away by which the operator keeps what others use. It stays away: nobody can add one to what is being
 * deleted (metadata.finalizers, API reference).
 */
export async function releaseFromUsers(
	client: KubeClient,
	kind: ResourceKind<KubeObject>,
	{ metadata: { name, namespace, uid } }: KubeObject,
	options: { fieldManager: string },
): Promise<void> {
	for (;;) {
		const object = await client.get(kind, name, namespace);
		if (!object || object.metadata.uid !== uid) return;
		const { finalizers = [], resourceVersion } = object.metadata;
		const others = finalizers.filter((each) => each !== inUseFinalizer);
		if (others.length === finalizers.length) return;
		const metadata = { uid, resourceVersion, finalizers: others };
		try {
			const patch = { metadata };
			await client.patch(kind, name, namespace, patch, "merge", options);
		} catch (error) {
			// A new status changes the version, too; or the last Source has just gone.
			if (!hasReason(error, "Conflict", "NotFound")) throw error;
		}
	}
}
