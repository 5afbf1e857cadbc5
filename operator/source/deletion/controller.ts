import type { DeletionAnswer } from "../../../contracts/deletion.ts";
import { deletionSubject } from "../../../contracts/nats.ts";
import { type Source, sourceKind } from "../../../crds/generated/types.ts";
import { fieldManager, finalizer } from "../../../crds/labels.ts";
import { hasReason } from "../../../kube/client/client.ts";
import { kinds } from "../../../kube/kinds.ts";
import {
	ControllerLoop,
	specChanged,
} from "../../../kube/reconcile/controller.ts";
import { keyOf } from "../../../kube/resource.ts";
import { askArchive } from "../../archive/ask.ts";
import { applyActions } from "../../reconcile/actions.ts";
import type {
	ControllerFactory,
	OperatorContext,
} from "../../reconcile/context.ts";
import { setFinalizers } from "../finalizers.ts";
import { keysSecretName, readKeys } from "../keys.ts";
import {
	type Burial,
	type DeletionAction,
	type DeletionState,
	decideAnswered,
	decideBuried,
	decideDeletion,
	type StoredUnder,
} from "./decide.ts";

/**
 * Deletes what a Source with `deletionPolicy: Delete` leaves behind. A loop of its own, since a question to archive may
 * take a minute, and no other Source should wait for that.
 */
export const createSourceDeletionController: ControllerFactory = (context) => {
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
				const state = await read(context, source, statusWrittenMs.get(key));
				try {
					return await apply(context, state, () =>
						statusWrittenMs.set(key, Date.now()),
					);
				} catch (error) {
					if (!hasReason(error, "NotFound")) throw error;
					return undefined; // It is gone.
				}
			},
		},
		{ log, workers: 4 },
	);
	const keysOf = (source: Source | undefined) =>
		source && isOurs(source) ? [keyOf(source)] : [];
	// A deletion counts as a new generation; the status is written here.
	loop.watch(informers.sources, keysOf, specChanged);
	loop.watch(informers.runs, ({ metadata: { namespace }, spec }) => {
		const pipeline = informers.pipelines.get(namespace!, spec.pipelineRef.name);
		return pipeline
			? keysOf(informers.sources.get(namespace!, pipeline.spec.sourceRef.name))
			: [];
	});
	return loop;
};

function isOurs({ metadata }: Source): boolean {
	return Boolean(
		metadata.deletionTimestamp && metadata.finalizers?.includes(finalizer),
	);
}

async function read(
	{ client, informers }: OperatorContext,
	source: Source,
	statusWrittenMs = 0,
): Promise<DeletionState> {
	const { name, namespace, uid } = source.metadata;
	const secretName = keysSecretName(name);
	const issued =
		informers.secrets.get(namespace!, secretName) ??
		(await client.get(kinds.secret, secretName, namespace));
	const keys = issued ? (readKeys(issued, name) ?? "invalid") : "absent";
	const sourceKey =
		typeof keys === "object" ? keys.sourceKey : source.status?.sourceKey;
	return {
		source,
		keys,
		// The status has the key of the Source alone to which it belongs.
		hasRival: informers.sources
			.list(namespace)
			.some(
				({ metadata, status }) =>
					metadata.uid !== uid &&
					sourceKey !== undefined &&
					status?.sourceKey === sourceKey,
			),
		runs: informers.pipelines
			.ofSource(namespace!, name)
			.flatMap(({ metadata }) =>
				informers.runs.ofPipeline(namespace!, metadata.name),
			)
			.filter(({ status }) => status?.phase === "Running")
			.map(({ metadata }) => metadata.name)
			.sort(),
		statusWrittenMs,
	};
}

function apply(
	context: OperatorContext,
	state: DeletionState,
	onStatusWritten: () => void,
) {
	const { client, nats } = context;
	const { name, namespace } = state.source.metadata;
	const noting = (actions: DeletionAction[]) => {
		if (actions.some(({ type }) => type === "writeStatus")) onStatusWritten();
		return actions;
	};
	return applyActions<Source, DeletionAction>(
		context,
		{ kind: sourceKind, verb: "Delete" },
		state.source,
		noting(decideDeletion(state)),
		async (action, source) => {
			const current = { ...state, source };
			switch (action.type) {
				case "buryKey": {
					const { stored } = action;
					const burial = await bury(context, namespace!, stored);
					return {
						instead: noting(decideBuried(current, stored, burial, Date.now())),
					};
				}
				case "askArchive": {
					const { shard, question } = action;
					const answer = await askArchive<DeletionAnswer>(
						nats,
						{ subject: deletionSubject(shard), shard },
						question,
						"ArchiveUnavailable",
					);
					return {
						instead: noting(decideAnswered(current, answer, Date.now())),
					};
				}
				case "deleteKeys":
					await client.delete(kinds.secret, keysSecretName(name), namespace);
					return undefined;
				case "setFinalizers": {
					const { finalizers } = action;
					return {
						object: await setFinalizers(
							client,
							source,
							finalizers,
							fieldManager,
						),
					};
				}
			}
		},
	);
}

async function bury(
	{ routes }: OperatorContext,
	account: string,
	{ sourceKey }: StoredUnder,
): Promise<Burial> {
	try {
		return (await routes.bury(sourceKey, account)) ? "buried" : "foreign";
	} catch (error) {
		return { trouble: `NATS: ${(error as Error).message}` };
	}
}
