import type { NatsConnection } from "@nats-io/transport-node";
import type { Source } from "../../../crds/generated/types.ts";
import { finalizer } from "../../../crds/labels.ts";
import type { DeletionAnswer } from "../../../packages/contracts/archive.ts";
import { deletionSubject } from "../../../packages/contracts/nats.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import { BackgroundWork } from "../../../packages/kube/reconcile/background-work.ts";
import {
	type ControllerLoop,
	specChanged,
} from "../../../packages/kube/reconcile/controller.ts";
import { keyOf } from "../../../packages/kube/resource.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { withhold } from "../../../packages/service/withheld.ts";
import { aboutOf, askArchive } from "../../reconcile/archive-question.ts";
import type { OperatorContext } from "../../reconcile/context.ts";
import { createResourceLoop } from "../../reconcile/resource-loop.ts";
import { keysSecretName } from "../routes/keys.ts";
import type { RouteBuckets } from "../routes/route-buckets.ts";
import { type DeletionAction, decide } from "./decide.ts";
import {
	type DeletionOutcome,
	type DeletionState,
	readDeletion,
	unlessNamespaceEnds,
} from "./state.ts";

/** Deletes what a Source with `deletionPolicy: Delete` leaves behind. The loop doesn't run yet. */
export function createSourceDeletionController(
	context: OperatorContext & {
		nats: NatsConnection;
		routes: RouteBuckets;
		shards: number;
	},
): ControllerLoop {
	const { client, informers, routes, log } = context;
	/** The requests to archive, which may take a minute to answer. */
	const asks = new BackgroundWork<DeletionAnswer>((key) => loop.enqueue(key));
	const loop = createResourceLoop<
		Source,
		DeletionState,
		DeletionAction,
		DeletionOutcome
	>(context, {
		name: "source-deletion",
		known: informers.sources,
		verb: "Delete",
		workers: 4,
		read: async (source, { outcome, statusWrittenMs }) =>
			isOurs(source)
				? {
						...(await readDeletion(context, source)),
						...outcome,
						answered: asks.outcome(keyOf(source)),
						statusWrittenMs,
					}
				: undefined,
		decide,
		objectIn: ({ source }) => source,
		onDecision(key, actions) {
			if (!actions.some(({ type }) => stepsToAnswer.has(type))) asks.drop(key);
		},
		async apply(action, source) {
			const { name, namespace } = source.metadata;
			switch (action.type) {
				case "putTombstone": {
					const { sourceKey } = action.stored;
					const account = namespace!;
					return {
						outcome: {
							tombstone: await putTombstone(routes, log, sourceKey, account),
						},
					};
				}
				case "askArchive": {
					const { shard, question } = action;
					asks.begin(keyOf(source), aboutOf(action), (signal) =>
						askArchive<DeletionAnswer>(
							context,
							{ subject: deletionSubject(shard), shard },
							question,
							"ArchiveUnavailable",
							signal,
						),
					);
					return source;
				}
				case "deleteKeys":
					await unlessNamespaceEnds(
						client,
						namespace!,
						() => client.delete(kinds.secret, keysSecretName(name), namespace),
						false,
					);
					return source;
			}
		},
	});
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

/** The answer of archive stays while these are on their way to it. */
const stepsToAnswer: ReadonlySet<string> = new Set<DeletionAction["type"]>([
	"putTombstone",
	"askArchive",
]);

function isOurs({ metadata }: Source): boolean {
	return Boolean(
		metadata.deletionTimestamp && metadata.finalizers?.includes(finalizer),
	);
}

async function putTombstone(
	routes: RouteBuckets,
	log: Logger,
	sourceKey: string,
	account: string,
): Promise<NonNullable<DeletionState["tombstone"]>> {
	try {
		return (await routes.putTombstone(sourceKey, account)) ? "put" : "foreign";
	} catch (error) {
		return {
			lastError: `NATS can't be used (${withhold(log, error, "the operator", "a source key can't be taken out of use")})`,
		};
	}
}
