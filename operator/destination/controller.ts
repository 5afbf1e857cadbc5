import {
	type Destination,
	destinationKind,
} from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import type { ControllerLoop } from "../../packages/kube/reconcile/controller.ts";
import { keyOf } from "../../packages/kube/resource.ts";
import { createJobLoop, type JobDeps } from "../jobs/controller.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { notReady } from "../reconcile/while-permitted.ts";
import { type DestinationAction, decide } from "./decide.ts";
import { type DestinationState, readDestination } from "./state.ts";
import type { AllowedEndpoints } from "./warehouse.ts";

/** Verifies Destinations by Jobs and keeps their status. The loop doesn't run yet. */
export function createDestinationController(
	context: OperatorContext & JobDeps & { allowedEndpoints: AllowedEndpoints },
): ControllerLoop {
	const { informers } = context;
	const jobsOf = informers.jobs.index(({ metadata }) =>
		(metadata.ownerReferences ?? []).map(({ uid }) => uid),
	);
	const loop = createJobLoop<Destination, DestinationState, DestinationAction>(
		context,
		{
			name: "destination",
			kind: destinationKind,
			known: informers.destinations,
			owner: "Destination",
			verb: "Check",
			label: label.destination,
			// A check needs ten requests in turn, and the Destination's Pipelines wait for it.
			workers: 8,
			questionsAtOnce: 0,
			async read({ namespace, name }, outcomes) {
				const destination = informers.destinations.get(namespace, name);
				if (!destination) return undefined;
				const jobs = jobsOf(destination.metadata.uid!);
				return readDestination(context, destination, jobs, outcomes);
			},
			decide,
			objectIn: ({ destination }) => destination,
			hasJob: ({ jobs }) => jobs.length > 0,
			notPermitted: notReady({ phase: "Error" }),
			removalOf(_, action) {
				const { job } = action as Extract<
					DestinationAction,
					{ type: "removeJob" }
				>;
				return { job, secretName: job.metadata.name };
			},
		},
	);
	loop.watch(informers.destinations);
	loop.watch(informers.secrets, ({ metadata }) =>
		informers.destinations
			.ofSecret(metadata.namespace!, metadata.name)
			.map(keyOf),
	);
	loop.watch(informers.volumeClaims, ({ metadata }) =>
		informers.destinations
			.ofVolumeClaim(metadata.namespace!, metadata.name)
			.map(keyOf),
	);
	loop.watch(informers.serviceAccounts, ({ metadata }) =>
		informers.destinations
			.ofServiceAccount(metadata.namespace!, metadata.name)
			.map(keyOf),
	);
	return loop;
}
