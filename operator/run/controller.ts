import type { NatsConnection } from "@nats-io/transport-node";
import type { ManifestAnswer, ResultAnswer } from "../../contracts/manifest.ts";
import type { Run } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { hasEnded } from "../../crds/run.ts";
import { BackgroundWork } from "../../kube/reconcile/background-work.ts";
import {
	ControllerLoop,
	specChanged,
} from "../../kube/reconcile/controller.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../kube/resource.ts";
import { FairLimit } from "../archive/fair-limit.ts";
import { isGone, isOver } from "../job/outcome.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { applyRun } from "./apply.ts";
import { decide } from "./decide.ts";
import { warehouseLabel } from "./job.ts";
import { type JobLimits, JobSlots } from "./job-slots.ts";
import { readRun, warehouseOfRun } from "./state.ts";

/** Of one account to one shard. Archive makes each manifest by a few requests to the store. */
const questionsAtOnce = 16;

/** Carries out Runs: asks archive what to load, starts the Job, and records its result. The loop doesn't run yet. */
export function createRunController(
	context: OperatorContext & { nats: NatsConnection; jobLimits: JobLimits },
): ControllerLoop {
	const { informers, log } = context;
	const asks = new BackgroundWork<ManifestAnswer>((key) => loop.enqueue(key));
	const results = new BackgroundWork<ResultAnswer>((key) => loop.enqueue(key));
	const questions = new FairLimit(questionsAtOnce);
	const slots = new JobSlots(context.jobLimits, (key) => loop.enqueue(key));
	const means = { ...context, asks, questions, results, slots };
	const loop: ControllerLoop = new ControllerLoop(
		{
			name: "run",
			reconcile: async (key) => {
				const state = await readRun(context, key, asks.progressOf(key));
				const actions = state ? decide(state, Date.now()) : [];
				const isAsking = actions.some(({ type }) => type === "askManifest");
				if (!isAsking) asks.drop(key);
				if (!actions.some(({ type }) => type === "askResult"))
					results.drop(key);
				if (!isAsking && !state?.job) slots.release(key);
				return state && applyRun(means, state, actions);
			},
		},
		// Many Runs begin at once on a full hour.
		{ log, workers: 8 },
	);
	const open = ({ metadata }: KubeObject): Run[] =>
		informers.runs.open(metadata.namespace!);
	// A Run waits for its references, and for its turn at a warehouse.
	const waiting = (object: KubeObject): ObjectKey[] => open(object).map(keyOf);
	const waitingForTurn = (
		object: KubeObject,
		isMeant: (warehouse: string | undefined) => boolean,
	): ObjectKey[] =>
		open(object)
			.filter((run) => isMeant(warehouseOfRun(context, run)))
			.map(keyOf);
	const ofChild = ({ metadata }: KubeObject): ObjectKey[] => {
		const { namespace = "", labels = {} } = metadata;
		const name = labels[label.run];
		return name ? [{ namespace, name }] : [];
	};
	const waitingForChild = (child: KubeObject): ObjectKey[] => {
		const meant = child.metadata.labels?.[label.warehouse];
		return meant === undefined
			? []
			: waitingForTurn(
					child,
					(warehouse) =>
						warehouse !== undefined && warehouseLabel(warehouse) === meant,
				);
	};
	// Those of an earlier process hold a slot before any Run gets one.
	informers.jobs.onChange((job, previous) => {
		if (previous || isOver(job)) return;
		for (const key of ofChild(job)) slots.hold(key);
	});
	// Not on a change of its status, or a Run that waits for archive would ask again at once.
	loop.watch(informers.runs, undefined, specChanged);
	loop.watch(
		informers.runs,
		(run) => {
			const meant = warehouseOfRun(context, run);
			return waitingForTurn(
				run,
				// A Run that can no longer be resolved may have held any warehouse, so wake them all.
				(warehouse) => meant === undefined || warehouse === meant,
			);
		},
		(run, before) => hasEnded(run) !== hasEnded(before),
	);
	loop.watch(informers.pipelines, waiting, specChanged);
	// Not on a Source's counts, which change all the time.
	loop.watch(
		informers.sources,
		waiting,
		(source, before) =>
			specChanged(source, before) ||
			source.status?.sourceKey !== before.status?.sourceKey,
	);
	loop.watch(informers.destinations, waiting);
	loop.watch(informers.secrets, (secret) => {
		const { namespace, name } = secret.metadata;
		return informers.destinations.ofSecret(namespace!, name).length > 0
			? waiting(secret)
			: [];
	});
	loop.watch(informers.jobs, ofChild);
	loop.watch(informers.pods, ofChild);
	loop.watch(
		informers.jobs,
		waitingForChild,
		(job, before) => isOver(job) !== isOver(before),
	);
	loop.watch(
		informers.pods,
		waitingForChild,
		(pod, before) => isGone(pod) !== isGone(before),
	);
	return loop;
}
