import {
	type Destination,
	destinationKind,
} from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import {
	isOver,
	type Job,
	kinds,
	type Pod,
	type Secret,
} from "../../packages/kube/kinds.ts";
import type { Refusal } from "../../packages/kube/reconcile/refusals.ts";
import { podsOfJob } from "../jobs/controller.ts";
import type { RequestOutcomes } from "../jobs/kind.ts";
import type { QueuePlace } from "../jobs/slots.ts";
import type {
	JobSurroundings,
	OperatorContext,
	PodPolicy,
} from "../reconcile/context.ts";
import { secretNamesOf, volumeClaimNameOf } from "../reconcile/informers.ts";
import { readSecret } from "../reconcile/secret-ref.ts";
import { askedBy, reachOf } from "./binding.ts";
import { isCheckOf } from "./check.ts";
import type { BorrowedObjects } from "./consent.ts";
import type { AllowedEndpoints } from "./warehouse.ts";

/** All that a decision about one Destination rests on. */
export interface DestinationState extends BorrowedObjects, JobSurroundings {
	destination: Destination;
	/** The check Jobs that this Destination owns, except those that are being deleted. */
	jobs: Job[];
	/** The Pods of those Jobs. */
	pods: Pod[];
	/** The Secrets that the spec names, with or without the label, as far as they exist. */
	credentials: readonly Secret[];
	/** Why no check may start now: there are too many Jobs, or Kubernetes has refused it. */
	place?: QueuePlace | undefined;
	refusal?: Refusal | undefined;
	/** Who wrote where the credentials go, in words that follow it, if their Secret doesn't let them go there. */
	asked?: string | undefined;
	image: string;
	allowedEndpoints: AllowedEndpoints;
	podPolicy: PodPolicy;
}

/** @param jobs All Jobs that name the Destination as an owner. Anybody who makes a Job can do that. */
export async function readDestination(
	context: OperatorContext & { allowedEndpoints: AllowedEndpoints },
	destination: Destination,
	jobs: Job[],
	{ place, refusal }: Pick<RequestOutcomes, "place" | "refusal"> = {},
): Promise<DestinationState> {
	const {
		client,
		informers,
		image,
		localWarehouse,
		clusterDomain,
		clusterNetworks,
		allowedEndpoints,
		podPolicy,
	} = context;
	const { name, namespace } = destination.metadata;
	const secrets = await Promise.all(
		secretNamesOf(destination).map((secret) =>
			readSecret(context, namespace!, secret),
		),
	);
	const credentials = secrets.filter((secret) => secret !== undefined);
	const checks = jobs.filter(
		(job) => !job.metadata.deletionTimestamp && isCheckOf(destination, job),
	);
	const looked = await Promise.all(
		checks.map(async (job) => {
			const pods = await podsOfJob(
				client,
				informers.pods,
				job,
				`${label.destination}=${name}`,
			);
			// A check is recorded when its Pod has ended, and removed. Memory may then hear that it is over: it isn't one that lost its Pod.
			const isRemoved =
				isOver(job) && pods.length === 0 && !(await isThere(client, job));
			return isRemoved ? [] : [{ job, pods }];
		}),
	);
	const found = looked.flat();
	return {
		destination,
		jobs: found.map(({ job }) => job),
		pods: found.flatMap(({ pods }) => pods),
		credentials,
		asked: await whoAsked(context, destination, credentials),
		volumeClaim: informers.volumeClaims.get(
			namespace!,
			volumeClaimNameOf(destination) ?? "",
		),
		serviceAccount: informers.serviceAccounts.get(
			namespace!,
			destination.spec.serviceAccountName ?? "",
		),
		image,
		localWarehouse,
		clusterDomain,
		clusterNetworks,
		allowedEndpoints,
		podPolicy,
		place,
		refusal,
	};
}

/** Asked of the apiserver, since informers drop who wrote what. */
async function whoAsked(
	{ client, clusterDomain }: OperatorContext,
	destination: Destination,
	credentials: readonly Secret[],
): Promise<string | undefined> {
	const reach = reachOf(destination, credentials, clusterDomain);
	if (!reach || reach.bound) return undefined;
	const { name, namespace } = destination.metadata;
	const metadataOnly = { metadataOnly: true };
	const found = await client.get(
		destinationKind,
		name,
		namespace,
		metadataOnly,
	);
	return askedBy(found?.metadata.managedFields, reach);
}

async function isThere(client: KubeClient, { metadata }: Job) {
	const { name, namespace, uid } = metadata;
	const job = await client.get(kinds.job, name, namespace);
	return job?.metadata.uid === uid && !job?.metadata.deletionTimestamp;
}
