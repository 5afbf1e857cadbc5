import type { Source } from "../../../crds/generated/types.ts";
import { finalizer } from "../../../crds/labels.ts";
import { hasReason } from "../../../kube/client/client.ts";
import {
	ControllerLoop,
	specChanged,
} from "../../../kube/reconcile/controller.ts";
import { keyOf } from "../../../kube/resource.ts";
import type { OperatorContext } from "../../reconcile/context.ts";
import { applyDeletion, type DeletionMeans } from "./apply.ts";
import { decide } from "./decide.ts";
import { readDeletion } from "./state.ts";

/**
 * Deletes what a Source with `deletionPolicy: Delete` leaves behind. A loop of its own, since archive may take a minute to
 * answer, and other Sources should not wait for that. The loop doesn't run yet.
 */
export function createSourceDeletionController(
	context: OperatorContext & DeletionMeans,
): ControllerLoop {
	const { informers, log } = context;
	const statusWrittenMs = new Map<string, number>();
	const loop = new ControllerLoop(
		{
			name: "source-deletion",
			reconcile: async ({ namespace, name }) => {
				const source = informers.sources.get(namespace, name);
				const key = `${namespace}/${name}`;
				if (!source || !isOurs(source)) {
					statusWrittenMs.delete(key);
					return undefined;
				}
				const state = await readDeletion(
					context,
					source,
					statusWrittenMs.get(key) ?? 0,
				);
				try {
					return await applyDeletion(context, state, decide(state), () =>
						statusWrittenMs.set(key, Date.now()),
					);
				} catch (error) {
					if (!hasReason(error, "NotFound")) throw error;
					return undefined; // The Source is gone.
				}
			},
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
