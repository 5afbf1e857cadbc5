import { label } from "../../crds/labels.ts";
import { hasReason } from "../../kube/client/client.ts";
import { ControllerLoop } from "../../kube/reconcile/controller.ts";
import { keyOf } from "../../kube/resource.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { applyDestination } from "./apply.ts";
import { decide } from "./decide.ts";
import { readDestination } from "./state.ts";

/** Verifies Destinations by Jobs and keeps their status. The loop doesn't run yet. */
export function createDestinationController(
	context: OperatorContext & { bigQueryEndpoints: string[] },
): ControllerLoop {
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
				const jobs = jobsOf(destination.metadata.uid!);
				const state = await readDestination(context, destination, jobs);
				try {
					return await applyDestination(
						context,
						state,
						decide(state, Date.now()),
					);
				} catch (error) {
					if (!hasReason(error, "NotFound")) throw error;
					return undefined; // Somebody deleted it meanwhile.
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
	for (const secrets of [informers.secrets, informers.unlabelledSecrets])
		loop.watch(secrets, ({ metadata }) =>
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
