import { label } from "../../crds/labels.ts";
import type { Job } from "../../kube/kinds.ts";
import { ControllerLoop } from "../../kube/reconcile/controller.ts";
import { keyOf, type ObjectKey } from "../../kube/resource.ts";
import { isOver } from "../job/outcome.ts";
import type { JobSlots } from "../job/slots.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { tellRefusal } from "../reconcile/refusals.ts";
import {
	notReady,
	wakeByPermission,
	whilePermitted,
} from "../reconcile/while-permitted.ts";
import { aboutDestination, applyDestination } from "./apply.ts";
import { decide } from "./decide.ts";
import { readDestination } from "./state.ts";

/** Verifies Destinations by Jobs and keeps their status. The loop doesn't run yet. */
export function createDestinationController(
	context: OperatorContext & { bigQueryEndpoints: string[]; slots: JobSlots },
): ControllerLoop {
	const { informers, log, slots } = context;
	const jobsOf = informers.jobs.index(({ metadata }) =>
		(metadata.ownerReferences ?? []).map(({ uid }) => uid),
	);
	const loop = new ControllerLoop(
		{
			name: "destination",
			reconcile: async ({ namespace, name }) => {
				const destination = informers.destinations.get(namespace, name);
				const owner = { kind: "Destination", namespace, name } as const;
				if (!destination) {
					slots.release(owner);
					return undefined;
				}
				const jobs = jobsOf(destination.metadata.uid!);
				const state = await readDestination(context, destination, jobs);
				const wanted = decide(state, Date.now());
				const start = wanted.find((action) => action.type === "startCheck");
				const place = start && slots.take(owner, start.age);
				if (!start && state.jobs.length === 0) slots.release(owner);
				const actions = place
					? decide({ ...state, place }, Date.now())
					: wanted;
				return applyDestination(context, state, actions);
			},
			tellRefusal: ({ namespace, name }, refusal) =>
				tellRefusal(
					context,
					{ ...aboutDestination, type: "Ready" },
					informers.destinations.get(namespace, name),
					refusal,
				),
		},
		// A check needs ten requests in turn, and the Destination's Pipelines wait for it.
		{
			log,
			workers: 8,
			around: whilePermitted(
				context,
				informers.destinations,
				notReady({ phase: "Error" }),
			),
		},
	);
	wakeByPermission(context.permissions, informers.destinations, loop);
	slots.onFree("Destination", (key) => loop.enqueue(key));
	const ofCheck = ({ metadata: { namespace, labels } }: Job): ObjectKey[] => {
		const name = labels?.[label.destination];
		return name ? [{ namespace: namespace!, name }] : [];
	};
	// Those of an earlier process hold a slot before another check gets one.
	informers.jobs.onChange((job, previous) => {
		if (previous || isOver(job)) return;
		for (const key of ofCheck(job)) slots.hold({ kind: "Destination", ...key });
	});
	loop.watch(informers.destinations);
	loop.watch(informers.jobs, ofCheck);
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
