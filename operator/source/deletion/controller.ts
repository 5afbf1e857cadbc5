import type { Source } from "../../../crds/generated/types.ts";
import { finalizer } from "../../../crds/labels.ts";
import type { DeletionAnswer } from "../../../packages/contracts/archive.ts";
import { BackgroundWork } from "../../../packages/kube/reconcile/background-work.ts";
import {
	ControllerLoop,
	specChanged,
} from "../../../packages/kube/reconcile/controller.ts";
import { keyOf, textOf } from "../../../packages/kube/resource.ts";
import type { OperatorContext } from "../../reconcile/context.ts";
import { tellRefusal } from "../../reconcile/refusals.ts";
import { aboutDeletion, applyDeletion, type DeletionMeans } from "./apply.ts";
import { decide } from "./decide.ts";
import { readDeletion } from "./state.ts";

/** Deletes what a Source with `deletionPolicy: Delete` leaves behind. The loop doesn't run yet. */
export function createSourceDeletionController(
	context: OperatorContext & Omit<DeletionMeans, "asks">,
): ControllerLoop {
	const { informers, log } = context;
	const asks = new BackgroundWork<DeletionAnswer>((key) => loop.enqueue(key));
	const statusWrittenMs = new Map<string, number>();
	const loop: ControllerLoop = new ControllerLoop(
		{
			name: "source-deletion",
			reconcile: async ({ namespace, name }, _, refusal) => {
				const source = informers.sources.get(namespace, name);
				const key = textOf({ namespace, name });
				if (!source || !isOurs(source)) {
					statusWrittenMs.delete(key);
					asks.drop({ namespace, name });
					return undefined;
				}
				const state = await readDeletion(
					context,
					source,
					statusWrittenMs.get(key) ?? 0,
				);
				return applyDeletion(
					{ ...context, asks, refusal },
					state,
					decide(state),
					() => statusWrittenMs.set(key, Date.now()),
				);
			},
			tellRefusal: ({ namespace, name }, refusal) =>
				tellRefusal(
					context,
					{ ...aboutDeletion, type: "Ready" },
					informers.sources.get(namespace, name),
					refusal,
				),
		},
		{ log, workers: 4 },
	);
	const keysOf = (source: Source) => (isOurs(source) ? [keyOf(source)] : []);
	// A deletion raises the generation. Not on status changes, which this loop makes.
	loop.watch(informers.sources, keysOf, specChanged);
	loop.watch(informers.runs, ({ metadata, status }) => {
		const sourceKey = status?.layout?.sourceKey;
		return sourceKey === undefined
			? []
			: informers.sources
					.withKey(metadata.namespace!, sourceKey)
					.flatMap(keysOf);
	});
	return loop;
}

function isOurs({ metadata }: Source): boolean {
	return Boolean(
		metadata.deletionTimestamp && metadata.finalizers?.includes(finalizer),
	);
}
