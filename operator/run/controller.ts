import type { NatsConnection } from "@nats-io/transport-node";
import type { ManifestAnswer, ResultAnswer } from "../../contracts/manifest.ts";
import type { Run, Source } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { hasEnded } from "../../crds/run.ts";
import { BackgroundWork } from "../../kube/reconcile/background-work.ts";
import {
	ControllerLoop,
	specChanged,
	specMatters,
} from "../../kube/reconcile/controller.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../kube/resource.ts";
import { FairLimit } from "../archive/fair-limit.ts";
import { isGone, isOver } from "../job/outcome.ts";
import type { JobSlots } from "../job/slots.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { tellRefusal } from "../reconcile/refusals.ts";
import {
	type NotPermittedReport,
	reportOf,
	wakeByPermission,
	whilePermitted,
} from "../reconcile/while-permitted.ts";
import { aboutRun, applyRun } from "./apply.ts";
import { decide } from "./decide.ts";
import { warehouseLabel } from "./job.ts";
import { limitPending } from "./pending.ts";
import { readRun, referencesOfRun, warehouseOfRun } from "./state.ts";
import { transition } from "./transition.ts";

/** Of one account to one shard. Archive makes each manifest by a few requests to the store. */
const questionsAtOnce = 16;

/** While it waits, the time that the Run may wait counts. */
function notPermittedReport(
	context: OperatorContext & { slots: JobSlots },
	asks: BackgroundWork<ManifestAnswer>,
): NotPermittedReport<Run> {
	const { informers, slots } = context;
	const jobOf = ({ metadata: { namespace, name } }: Run) =>
		informers.jobs.get(namespace!, name);
	return {
		condition: "Complete",
		statusOf: (run, message, now) => {
			if (hasEnded(run)) return undefined;
			const { phase = "Pending" } = run.status ?? {};
			const waits = transition.progress(
				run,
				"NotPermitted",
				message,
				{ phase },
				now,
			);
			if (phase !== "Pending") return reportOf(waits);
			if (run.spec.cancel) return reportOf(transition.cancel(run, {}, now));
			const references = referencesOfRun(context, run);
			return reportOf(
				limitPending({ run, references, job: jobOf(run) }, waits, now),
			);
		},
		release: (run) => {
			asks.drop(keyOf(run));
			if (!jobOf(run)) slots.release({ kind: "Run", ...keyOf(run) });
		},
	};
}

/** Carries out Runs: asks archive what to load, starts the Job, and records its result. The loop doesn't run yet. */
export function createRunController(
	context: OperatorContext & {
		nats: NatsConnection;
		slots: JobSlots;
		traceEndpoint?: string | undefined;
	},
): ControllerLoop {
	const { informers, log, slots } = context;
	const asks = new BackgroundWork<ManifestAnswer>((key) => loop.enqueue(key));
	const results = new BackgroundWork<ResultAnswer>((key) => loop.enqueue(key));
	const questions = new FairLimit(questionsAtOnce);
	const means = { ...context, asks, questions, results };
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
				if (!isAsking && !state?.job) slots.release({ kind: "Run", ...key });
				return state && applyRun(means, state, actions);
			},
			tellRefusal: ({ namespace, name }, refusal) =>
				tellRefusal(
					context,
					{ ...aboutRun, type: "Complete" },
					informers.runs.get(namespace, name),
					refusal,
				),
		},
		// Many Runs begin at once on a full hour.
		{
			log,
			workers: 8,
			around: whilePermitted(
				context,
				informers.runs,
				notPermittedReport(context, asks),
			),
		},
	);
	wakeByPermission(context.permissions, informers.runs, loop);
	slots.onFree("Run", (key) => loop.enqueue(key));
	const open = (namespace: string): Run[] => informers.runs.open(namespace);
	const ofChild = ({ metadata }: KubeObject): ObjectKey[] => {
		const { namespace = "", labels = {} } = metadata;
		const name = labels[label.run];
		return name ? [{ namespace, name }] : [];
	};
	// Those of an earlier process hold a slot before any Run gets one.
	informers.jobs.onChange((job, previous) => {
		if (previous || isOver(job)) return;
		for (const key of ofChild(job)) slots.hold({ kind: "Run", ...key });
	});
	// Not on a change of its status, or a Run that waits for archive would ask again at once.
	loop.watch(informers.runs, undefined, specChanged);
	// A Run waits for its references.
	const waiting = {
		groupsOf: ({ metadata }: KubeObject) => [metadata.namespace!],
		membersOf: (namespace: string) => open(namespace).map(keyOf),
	};
	loop.watchGroups(informers.pipelines, { ...waiting, matters: specMatters });
	loop.watchGroups<Source>(informers.sources, {
		...waiting,
		// Not on a Source's counts, which change all the time.
		matters: (source, before, deleted) =>
			specMatters(source, before, deleted) ||
			source.status?.sourceKey !== before?.status?.sourceKey,
	});
	loop.watchGroups(informers.destinations, waiting);
	loop.watchGroups(informers.secrets, {
		...waiting,
		matters: ({ metadata: { namespace, name } }) =>
			informers.destinations.ofSecret(namespace!, name).length > 0,
	});
	// And for its turn at a warehouse. A Run that can no longer be resolved may have held any warehouse.
	const labelOf = (run: Run): string => {
		const warehouse = warehouseOfRun(context, run);
		return warehouse === undefined ? "" : warehouseLabel(warehouse);
	};
	const membersOf = (group: string): ObjectKey[] => {
		const [namespace = "", meant] = group.split("/");
		return open(namespace)
			.filter((run) => !meant || labelOf(run) === meant)
			.map(keyOf);
	};
	// What is new holds a warehouse and frees none.
	loop.watchGroups(informers.runs, {
		groupsOf: (run) => [`${run.metadata.namespace}/${labelOf(run)}`],
		membersOf,
		matters: (run, before, deleted) =>
			deleted || (!!before && hasEnded(run) !== hasEnded(before)),
	});
	const ofWarehouse = ({ metadata: { namespace, labels } }: KubeObject) => {
		const meant = labels?.[label.warehouse];
		return meant === undefined ? [] : [`${namespace}/${meant}`];
	};
	loop.watch(informers.jobs, ofChild);
	loop.watchGroups(informers.jobs, {
		groupsOf: ofWarehouse,
		membersOf,
		matters: (job, before, deleted) =>
			deleted || (!!before && isOver(job) !== isOver(before)),
	});
	loop.watch(informers.pods, ofChild);
	loop.watchGroups(informers.pods, {
		groupsOf: ofWarehouse,
		membersOf,
		matters: (pod, before, deleted) =>
			deleted || (!!before && isGone(pod) !== isGone(before)),
	});
	return loop;
}
