import type { NatsConnection } from "@nats-io/transport-node";
import type { Source } from "../../../crds/generated/types.ts";
import { finalizer } from "../../../crds/labels.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import {
	type ControllerLoop,
	specChanged,
} from "../../../packages/kube/reconcile/controller.ts";
import { keyOf } from "../../../packages/kube/resource.ts";
import { type Logger, withhold } from "../../../packages/service/log.ts";
import type { OperatorContext } from "../../reconcile/context.ts";
import { ArchiveQuestions } from "../../reconcile/questions.ts";
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
	const questions = new ArchiveQuestions(context, undefined, (key) =>
		loop.enqueue(key),
	);
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
						answered: questions.answered(keyOf(source)),
						statusWrittenMs,
					}
				: undefined,
		decide,
		objectIn: ({ source }) => source,
		onDecision(key, actions) {
			if (!actions.some(({ type }) => stepsToAnswer.has(type)))
				questions.drop(key);
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
				case "askDeletion":
					questions.ask(source, action);
					return source;
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
	"askDeletion",
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
