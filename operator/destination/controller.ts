import {
	type Destination,
	destinationKind,
} from "../../crds/generated/types.ts";
import { fieldManager, label } from "../../crds/labels.ts";
import { ApiError, hasReason } from "../../kube/client/client.ts";
import { type Job, kinds } from "../../kube/kinds.ts";
import {
	ControllerLoop,
	type Result,
} from "../../kube/reconcile/controller.ts";
import { keyOf } from "../../kube/resource.ts";
import { applyActions } from "../reconcile/actions.ts";
import type {
	ControllerFactory,
	OperatorContext,
} from "../reconcile/context.ts";
import { secretOf } from "../reconcile/informers.ts";
import type { Check } from "./check.ts";
import {
	type DestinationAction,
	type DestinationState,
	decide,
	decideRefused,
} from "./decide.ts";

/** Verifies Destinations by Jobs and keeps their status. */
export const createDestinationController: ControllerFactory = (context) => {
	const { informers, log } = context;
	const jobsOf = informers.jobs.index(({ metadata }) =>
		(metadata.ownerReferences ?? []).map(({ uid }) => uid),
	);
	const loop = new ControllerLoop(
		{
			name: "destination",
			reconcile: async ({ namespace, name }) => {
				const destination = informers.destinations.get(namespace, name);
				if (!destination) return undefined;
				const state = await read(
					context,
					destination,
					jobsOf(destination.metadata.uid!),
				);
				try {
					return await applyDestination(
						context,
						destination,
						decide(state, Date.now()),
					);
				} catch (error) {
					if (!hasReason(error, "NotFound")) throw error;
					return undefined; // It was deleted while we looked.
				}
			},
		},
		{ log },
	);
	loop.watch(informers.destinations);
	loop.watch(informers.jobs, ({ metadata: { namespace, labels } }) => {
		const name = labels?.[label.destination];
		return name ? [{ namespace: namespace!, name }] : [];
	});
	const destinationsOfSecret = informers.destinations.index(
		({ metadata, spec }) => {
			const name = spec.bigQuery?.credentials?.secretRef.name;
			return name ? [`${metadata.namespace}/${name}`] : [];
		},
	);
	for (const secrets of [informers.secrets, informers.unlabelledSecrets])
		loop.watch(secrets, ({ metadata }) =>
			destinationsOfSecret(`${metadata.namespace}/${metadata.name}`).map(keyOf),
		);
	return loop;
};

async function read(
	context: OperatorContext,
	destination: Destination,
	jobs: Job[],
): Promise<DestinationState> {
	const { client, settings } = context;
	const { name, namespace } = destination.metadata;
	const secret = destination.spec.bigQuery?.credentials?.secretRef.name;
	// Asked for directly: a Job can be seen to end before the end of its Pod is.
	const pods =
		jobs.length === 0
			? []
			: (
					await client.list(kinds.pod, {
						namespace,
						labelSelector: `${label.destination}=${name}`,
					})
				).items;
	return {
		destination,
		jobs: jobs.filter((job) => !job.metadata.deletionTimestamp),
		pods,
		credentials:
			secret === undefined
				? undefined
				: await secretOf(context, namespace!, secret),
		image: settings.image,
		localWarehouse: settings.localWarehouse,
		bigQueryEndpoints: settings.bigQueryEndpoints,
	};
}

function applyDestination(
	context: OperatorContext,
	destination: Destination,
	actions: DestinationAction[],
): Promise<Result | undefined> {
	const { client } = context;
	const { namespace } = destination.metadata;
	return applyActions<Destination, DestinationAction>(
		context,
		{ kind: destinationKind, verb: "Check" },
		destination,
		actions,
		async (action, current) => {
			if (action.type === "deleteCheck") {
				await client.delete(kinds.job, action.name, namespace);
				await client.delete(kinds.secret, action.name, namespace);
				return undefined;
			}
			const { check } = action;
			const refusal = await startCheck(context, current, check);
			return refusal === undefined
				? undefined
				: { instead: decideRefused(current, check, refusal, Date.now()) };
		},
	);
}

/** Returns Kubernetes' words if it refuses; other errors are thrown. */
async function startCheck(
	{ client }: OperatorContext,
	{ metadata }: Destination,
	{ job, secret }: Check,
): Promise<string | undefined> {
	try {
		await client.apply(kinds.secret, secret, { fieldManager, force: true });
		await client.create(kinds.job, job, { fieldManager });
	} catch (error) {
		if (hasReason(error, "AlreadyExists")) {
			const { name, namespace } = job.metadata;
			const there = await client.get(kinds.job, name, namespace);
			// Our own, which we only haven't seen yet.
			return there?.metadata.ownerReferences?.some(
				({ uid }) => uid === metadata.uid,
			)
				? undefined
				: `Job "${name}" is there and not of this Destination. Delete it: kubectl delete job ${name} -n ${namespace}`;
		}
		if (error instanceof ApiError && refusals.includes(error.status))
			return error.message;
		throw error;
	}
	return undefined;
}

/** A quota or a policy forbids it, or admission found it invalid: somebody must change something. */
const refusals = [400, 403, 422];
