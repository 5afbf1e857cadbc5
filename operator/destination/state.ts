import type { Destination } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import type { Job, Pod, Secret } from "../../packages/kube/kinds.ts";
import type { Refusal } from "../../packages/kube/reconcile/refusals.ts";
import { podsOfJob } from "../jobs/controller.ts";
import type { RequestOutcomes } from "../jobs/kind.ts";
import type { QueuePlace } from "../jobs/slots.ts";
import type { OperatorContext, PodPolicy } from "../reconcile/context.ts";
import { readSecret } from "../reconcile/secret-ref.ts";
import { isCheckOf } from "./check.ts";
import type { Borrowed } from "./consent.ts";

/** All that a decision about one Destination rests on. */
export interface DestinationState extends Borrowed {
	destination: Destination;
	/** The check Jobs that this Destination owns, except those that are being deleted. */
	jobs: Job[];
	/** The Pods of those Jobs. */
	pods: Pod[];
	/** The Secret that a BigQuery destination's credentials name, if it exists. */
	credentials: Secret | undefined;
	/** Why no check may start now: there are too many Jobs, or Kubernetes has refused it. */
	place?: QueuePlace | undefined;
	refusal?: Refusal | undefined;
	image: string;
	/** Local mode's directory for DuckDB files. */
	localWarehouse: string | undefined;
	/** The allowed values of a BigQuery destination's apiEndpoint, without a trailing slash. */
	bigQueryEndpoints: string[];
	podPolicy: PodPolicy;
}

/** @param jobs All Jobs that name the Destination as an owner. Anybody who makes a Job can do that. */
export async function readDestination(
	context: OperatorContext & { bigQueryEndpoints: string[] },
	destination: Destination,
	jobs: Job[],
	{ place, refusal }: Pick<RequestOutcomes, "place" | "refusal"> = {},
): Promise<DestinationState> {
	const {
		client,
		informers,
		image,
		localWarehouse,
		bigQueryEndpoints,
		podPolicy,
	} = context;
	const { name, namespace } = destination.metadata;
	const { bigQuery, duckDB, serviceAccountName } = destination.spec;
	const secret = bigQuery?.credentials?.secretRef.name;
	const checks = jobs.filter(
		(job) => !job.metadata.deletionTimestamp && isCheckOf(destination, job),
	);
	const pods = await Promise.all(
		checks.map((job) =>
			podsOfJob(client, informers.pods, job, `${label.destination}=${name}`),
		),
	);
	return {
		destination,
		jobs: checks,
		pods: pods.flat(),
		credentials:
			secret === undefined
				? undefined
				: await readSecret(context, namespace!, secret),
		volumeClaim: informers.volumeClaims.get(
			namespace!,
			duckDB?.volumeClaimName ?? "",
		),
		serviceAccount: informers.serviceAccounts.get(
			namespace!,
			serviceAccountName ?? "",
		),
		image,
		localWarehouse,
		bigQueryEndpoints,
		podPolicy,
		place,
		refusal,
	};
}
