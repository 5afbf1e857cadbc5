import { fieldManager } from "../../crds/labels.ts";
import {
	ApiError,
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import { type Job, kinds } from "../../packages/kube/kinds.ts";
import {
	isControlledBy,
	type KubeObject,
} from "../../packages/kube/resource.ts";
import type { JobWithInput } from "./template.ts";

/** The reason of our own refusal: what has the name that a Job or its input needs belongs to somebody else. */
export const nameTaken = "NameTaken";

/**
 * Starts a Job after its input is there. Starting a Job twice does nothing. Throws what Kubernetes answers if it refuses, and
 * {@link nameTaken} as such a refusal.
 * @param options `dryRun`: nothing is written. Quotas and admission policies still say whether they refuse the Job.
 */
export async function startJob(
	client: KubeClient,
	{ job, secret }: JobWithInput,
	{ dryRun = false }: { dryRun?: boolean } = {},
): Promise<void> {
	const [owner] = job.metadata.ownerReferences!;
	const { name, namespace } = job.metadata;
	const taken = (what: string) =>
		new ApiError(
			409,
			{
				reason: nameTaken,
				message: `${what} exists, but does not belong to ${owner!.kind} "${owner!.name}". Delete it: kubectl delete ${what.toLowerCase().replaceAll('"', "")} -n ${namespace}`,
			},
			undefined,
			{ method: "POST", path: "" },
		);
	const existing = await findSecret(client, secret);
	if (existing && !isControlledBy(existing, owner!.uid))
		throw taken(`Secret "${secret.metadata.name}"`);
	// Applied, since an earlier attempt may have left one with outdated input.
	await client.apply(kinds.secret, secret, {
		fieldManager,
		force: true,
		dryRun,
	});
	try {
		await client.create(kinds.job, job, { fieldManager, dryRun });
	} catch (error) {
		if (!hasReason(error, "AlreadyExists")) throw error;
		const existing = await client.get(kinds.job, name, namespace);
		if (!existing) throw error;
		// Our own is one that memory lacks or which is being deleted: its next change wakes the controller.
		if (!isControlledBy(existing, owner!.uid)) throw taken(`Job "${name}"`);
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

/** Its metadata alone: the Secret may be somebody else's. */
function findSecret(client: KubeClient, { metadata }: KubeObject) {
	const { name, namespace } = metadata;
	return client.get(kinds.secret, name, namespace, { metadataOnly: true });
}
