import { fieldManager } from "../../crds/labels.ts";
import {
	ApiError,
	hasReason,
	type KubeClient,
} from "../../kube/client/client.ts";
import { type Job, kinds } from "../../kube/kinds.ts";
import { isControlledBy, type KubeObject } from "../../kube/resource.ts";
import type { JobWithInput } from "./template.ts";

/**
 * Starts a Job after its input is there. Starting a Job twice does nothing.
 * @param options `dryRun`: nothing is written. Quotas and admission policies still say whether they refuse the Job.
 * @returns why Kubernetes refused, for people; undefined once the Job exists. Other errors are thrown.
 */
export async function startJob(
	client: KubeClient,
	{ job, secret }: JobWithInput,
	{ dryRun = false }: { dryRun?: boolean } = {},
): Promise<string | undefined> {
	const [owner] = job.metadata.ownerReferences!;
	const { name, namespace } = job.metadata;
	const taken = (what: string) =>
		`${what} exists, but does not belong to ${owner!.kind} "${owner!.name}". Delete it: kubectl delete ${what.toLowerCase().replaceAll('"', "")} -n ${namespace}`;
	try {
		const existing = await findSecret(client, secret);
		if (existing && !isControlledBy(existing, owner!.uid))
			return taken(`Secret "${secret.metadata.name}"`);
		// Applied, since an earlier attempt may have left one with outdated input.
		await client.apply(kinds.secret, secret, {
			fieldManager,
			force: true,
			dryRun,
		});
		await client.create(kinds.job, job, { fieldManager, dryRun });
		return undefined;
	} catch (error) {
		if (hasReason(error, "AlreadyExists")) {
			const existing = await client.get(kinds.job, name, namespace);
			if (!existing) throw error;
			// Our own, which memory lacks or which is being deleted: its next change wakes the controller.
			return isControlledBy(existing, owner!.uid)
				? undefined
				: taken(`Job "${name}"`);
		}
		if (error instanceof ApiError && refusals.has(error.status))
			return `Kubernetes refused the Job: ${error.message}`;
		throw error;
	}
}

/**
 * Removes a Job with its Pods, and the input. What the owner doesn't control belongs to somebody else and stays. Removing
 * twice does nothing.
 */
export async function removeJob(
	client: KubeClient,
	owner: KubeObject,
	{ job, secretName }: { job: Job | undefined; secretName: string },
): Promise<void> {
	const { namespace } = owner.metadata;
	if (job && !isControlledBy(job, owner.metadata.uid)) return;
	const secret = await findSecret(client, {
		metadata: { name: secretName, ...(namespace && { namespace }) },
	});
	if (secret && isControlledBy(secret, owner.metadata.uid))
		await client.delete(kinds.secret, secretName, namespace, {
			uid: secret.metadata.uid!,
		});
	if (job)
		await client.delete(kinds.job, job.metadata.name, namespace, {
			uid: job.metadata.uid!,
		});
}

/** Answers that a retry alone doesn't change: a person must. */
const refusals = new Set([
	// A field can't be parsed, such as a quantity.
	400,
	// A quota or an admission policy forbids it, or the namespace is being deleted.
	403,
	// Something that the request names does not exist, such as the namespace.
	404,
	// Validation failed.
	422,
]);

/** Its metadata alone: the Secret may be somebody else's. */
function findSecret(client: KubeClient, { metadata }: KubeObject) {
	const { name, namespace } = metadata;
	return client.get(kinds.secret, name, namespace, { metadataOnly: true });
}
