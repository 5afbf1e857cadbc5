import type {
	Destination,
	Pipeline,
	Run,
	TrackingPlan,
} from "../../crds/generated/types.ts";
import {
	ControllerLoop,
	specChanged,
	specMatters,
} from "../../packages/kube/reconcile/controller.ts";
import { keyOf, type ObjectKey, textOf } from "../../packages/kube/resource.ts";
import type { NotificationMeans } from "../notification/state.ts";
import { webhookSecretsOf } from "../notification/webhooks.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { tellRefusal } from "../reconcile/refusals.ts";
import {
	notReady,
	wakeByPermission,
	whilePermitted,
} from "../reconcile/while-permitted.ts";
import { aboutPipeline, applyPipeline } from "./apply.ts";
import { decide } from "./decide.ts";
import { hasUntypedColumn, readPipeline } from "./state.ts";

/** Creates a Pipeline's scheduled Runs, keeps its status, and prunes its ended Runs. The loop doesn't run yet. */
export function createPipelineController(
	context: OperatorContext & NotificationMeans,
): ControllerLoop {
	const { informers, outbox, log } = context;
	/** By Pipeline, what the last look found under the name of the due Run. */
	const namesakes = new Map<string, Run>();
	const loop = new ControllerLoop(
		{
			name: "pipeline",
			reconcile: async (key, _, refusal) => {
				const now = Date.now();
				const read = await readPipeline(context, key);
				const namesake = namesakes.get(textOf(key));
				namesakes.delete(textOf(key));
				if (!read) return undefined;
				const state = { ...read, ...(namesake && { namesake }) };
				return applyPipeline(
					{ ...context, refusal },
					state,
					decide(state, now),
					(run) => namesakes.set(textOf(key), run),
				);
			},
			tellRefusal: ({ namespace, name }, refusal) =>
				tellRefusal(
					context,
					{ ...aboutPipeline, type: "Ready" },
					informers.pipelines.get(namespace, name),
					refusal,
				),
		},
		// Many Pipelines are due at once on a full hour.
		{
			log,
			workers: 16,
			around: whilePermitted(
				context,
				informers.pipelines,
				notReady({ phase: "Error" }),
			),
		},
	);
	wakeByPermission(context.permissions, informers.pipelines, loop);
	loop.watch(informers.pipelines);
	// Pipelines into a table of the same name, in warehouses that may be the same.
	const { tableOf, intoTable } = informers.pipelines;
	const rivals = (table: string): ObjectKey[] => intoTable(table).map(keyOf);
	loop.watchGroups<Pipeline>(informers.pipelines, {
		groupsOf: (pipeline) => [tableOf(pipeline)],
		membersOf: rivals,
		matters: specMatters,
	});
	const nameOf = (destination: Destination) => textOf(keyOf(destination));
	const usersAndRivals = (destination: string): ObjectKey[] => {
		const [namespace = "", name = ""] = destination.split("/");
		const users = informers.pipelines.ofDestination(namespace, name);
		// Each table once: thousands of users may have the same.
		const tables = new Set(users.map(tableOf));
		return [...users.map(keyOf), ...[...tables].flatMap(rivals)];
	};
	loop.watchGroups(informers.destinations, {
		groupsOf: (destination) => [nameOf(destination)],
		membersOf: usersAndRivals,
	});
	loop.watchGroups(informers.secrets, {
		groupsOf: ({ metadata: { namespace, name } }) =>
			informers.destinations.ofSecret(namespace!, name).map(nameOf),
		membersOf: usersAndRivals,
	});
	const tellingBy = informers.pipelines.index((pipeline) =>
		webhookSecretsOf(pipeline).map((name) =>
			textOf({ ...keyOf(pipeline), name }),
		),
	);
	for (const secrets of [informers.secrets, informers.unlabelledSecrets])
		loop.watch(secrets, (secret) =>
			tellingBy(textOf(keyOf(secret))).map(keyOf),
		);
	outbox.onChange(({ kind, account, name }) => {
		if (kind === "Pipeline") loop.enqueue({ namespace: account, name });
	});
	loop.watch(informers.sources, ({ metadata }) =>
		informers.pipelines.ofSource(metadata.namespace!, metadata.name).map(keyOf),
	);
	const typedBy = ({ metadata }: TrackingPlan) =>
		informers.sources
			.ofTrackingPlan(metadata.namespace!, metadata.name)
			.flatMap((source) =>
				informers.pipelines.ofSource(metadata.namespace!, source.metadata.name),
			)
			.filter(hasUntypedColumn)
			.map(keyOf);
	loop.watch(informers.trackingPlans, typedBy, specChanged);
	loop.watch(informers.configMaps, ({ metadata }) =>
		informers.trackingPlans
			.ofConfigMap(metadata.namespace!, metadata.name)
			.flatMap(typedBy),
	);
	loop.watch(informers.runs, ({ metadata, spec }) => [
		{ namespace: metadata.namespace!, name: spec.pipelineRef.name },
	]);
	return loop;
}
