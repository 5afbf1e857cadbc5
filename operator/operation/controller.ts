import type { NatsConnection } from "@nats-io/transport-node";
import type { ManifestAnswer, ResultAnswer } from "../../contracts/manifest.ts";
import type { ReleaseAnswer } from "../../contracts/release.ts";
import type { ImportAnswer } from "../../contracts/stored/import.ts";
import type { Operation, Source } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { hasEnded } from "../../crds/operation.ts";
import { BackgroundWork } from "../../kube/reconcile/background-work.ts";
import {
	ControllerLoop,
	specChanged,
	specMatters,
} from "../../kube/reconcile/controller.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../kube/resource.ts";
import { FairLimit } from "../archive/fair-limit.ts";
import { isOver } from "../job/outcome.ts";
import type { JobSlots } from "../job/slots.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { tellRefusal } from "../reconcile/refusals.ts";
import {
	type NotPermittedReport,
	reportOf,
	wakeByPermission,
	whilePermitted,
} from "../reconcile/while-permitted.ts";
import { aboutOperation, applyOperation } from "./apply.ts";
import { decide } from "./decide.ts";
import { limitPending } from "./pending.ts";
import { readOperation } from "./state.ts";
import { transition } from "./transition.ts";

/** Of one account to one shard. */
const questionsAtOnce = 4;

/** While it waits, the time that the Operation may wait counts. */
function notPermittedReport(
	{ informers, slots }: OperatorContext & { slots: JobSlots },
	asks: BackgroundWork<ManifestAnswer>,
): NotPermittedReport<Operation> {
	return {
		condition: "Complete",
		statusOf: (operation, message, now) => {
			if (hasEnded(operation)) return undefined;
			const { phase = "Pending" } = operation.status ?? {};
			const waits = transition.progress(
				operation,
				"NotPermitted",
				message,
				{ phase },
				now,
			);
			if (phase !== "Pending") return reportOf(waits);
			if (operation.spec.cancel)
				return reportOf(transition.cancel(operation, {}, now));
			return reportOf(limitPending(operation, waits, now));
		},
		release: ({ metadata: { namespace, name } }) => {
			const key = { namespace: namespace!, name };
			asks.drop(key);
			if (!informers.jobs.get(key.namespace, name))
				slots.release({ kind: "Operation", ...key });
		},
	};
}

/** Carries out Operations: asks archive what to read, starts the Job, and records its report. The loop doesn't run yet. */
export function createOperationController(
	context: OperatorContext & { nats: NatsConnection; slots: JobSlots },
): ControllerLoop {
	const { informers, log, slots } = context;
	const asks = new BackgroundWork<ManifestAnswer>((key) => loop.enqueue(key));
	const results = new BackgroundWork<ResultAnswer>((key) => loop.enqueue(key));
	const releases = new BackgroundWork<ReleaseAnswer>((key) =>
		loop.enqueue(key),
	);
	const imports = new BackgroundWork<ImportAnswer>((key) => loop.enqueue(key));
	const questions = new FairLimit(questionsAtOnce);
	const means = { ...context, asks, imports, questions, releases, results };
	const loop: ControllerLoop = new ControllerLoop(
		{
			name: "operation",
			reconcile: async (key) => {
				const progress =
					asks.progressOf(key) ??
					releases.progressOf(key) ??
					imports.progressOf(key);
				const state = await readOperation(context, key, progress);
				const actions = state ? decide(state, Date.now()) : [];
				const isAsking = actions.some(({ type }) => type === "askManifest");
				if (!isAsking) asks.drop(key);
				if (!actions.some(({ type }) => type === "askRelease"))
					releases.drop(key);
				if (!actions.some(({ type }) => type === "askImport"))
					imports.drop(key);
				if (!actions.some(({ type }) => type === "askResult"))
					results.drop(key);
				if (!isAsking && !state?.job)
					slots.release({ kind: "Operation", ...key });
				return state && applyOperation(means, state, actions);
			},
			tellRefusal: ({ namespace, name }, refusal) =>
				tellRefusal(
					context,
					{ ...aboutOperation, type: "Complete" },
					informers.operations.get(namespace, name),
					refusal,
				),
		},
		{
			log,
			around: whilePermitted(
				context,
				informers.operations,
				notPermittedReport(context, asks),
			),
		},
	);
	wakeByPermission(context.permissions, informers.operations, loop);
	slots.onFree("Operation", (key) => loop.enqueue(key));
	const ofChild = ({ metadata }: KubeObject): ObjectKey[] => {
		const { namespace = "", labels = {} } = metadata;
		const name = labels[label.operation];
		return name ? [{ namespace, name }] : [];
	};
	// Those of an earlier process hold a slot before any Operation gets one.
	informers.jobs.onChange((job, previous) => {
		if (previous || isOver(job)) return;
		for (const key of ofChild(job)) slots.hold({ kind: "Operation", ...key });
	});
	// Not on every change of its status, or one that waits for archive would ask again at once.
	loop.watch(
		informers.operations,
		undefined,
		(operation, before) =>
			specChanged(operation, before) ||
			hasEnded(operation) !== hasEnded(before),
	);
	const openOf = (namespace: string, source: string): ObjectKey[] =>
		informers.operations
			.ofSource(namespace, source)
			.filter((operation) => !hasEnded(operation))
			.map(keyOf);
	// The next Import of the Source may begin.
	loop.watchGroups<Operation>(informers.operations, {
		groupsOf: ({ metadata, spec }) =>
			spec.type === "Import"
				? [`${metadata.namespace}/${spec.sourceRef.name}`]
				: [],
		membersOf: (group) => openOf(...(group.split("/") as [string, string])),
		matters: (operation, before, deleted) =>
			deleted ||
			(before !== undefined && hasEnded(operation) !== hasEnded(before)),
	});
	loop.watch(informers.jobs, ofChild);
	loop.watch(informers.pods, ofChild);
	// An Operation waits for its Source and its plan.
	loop.watchGroups<Source>(informers.sources, {
		groupsOf: ({ metadata }) => [`${metadata.namespace}/${metadata.name}`],
		membersOf: (group) => openOf(...(group.split("/") as [string, string])),
		matters: (source, before, deleted) =>
			specMatters(source, before, deleted) ||
			source.status?.sourceKey !== before?.status?.sourceKey,
	});
	loop.watch(
		informers.trackingPlans,
		({ metadata }) =>
			informers.operations
				.ofPlan(metadata.namespace!, metadata.name)
				.filter((operation) => !hasEnded(operation))
				.map(keyOf),
		specChanged,
	);
	// Or for a ConfigMap that its plan names: few, and rarely changed.
	loop.watch(informers.configMaps, ({ metadata }) =>
		informers.operations
			.open(metadata.namespace!)
			.filter(({ status }) => status?.phase === "Pending")
			.map(keyOf),
	);
	return loop;
}
