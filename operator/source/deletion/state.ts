import type { Run, Source } from "../../../crds/generated/types.ts";
import { hasEnded } from "../../../crds/run.ts";
import {
	hasReason,
	type KubeClient,
} from "../../../packages/kube/client/client.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import type { OperatorContext } from "../../reconcile/context.ts";
import type { ArchiveAnswer } from "../../reconcile/questions.ts";
import { readSecret } from "../../reconcile/secret-ref.ts";
import { type FoundKeys, keysIn, keysSecretName } from "../routes/keys.ts";

/** All that the deletion of one Source rests on. */
export interface DeletionState extends DeletionOutcome {
	source: Source;
	/** From the Secret `<source>-webhook-url`. */
	keys: FoundKeys;
	/** Another Source of the namespace has the source key: the Secret is a copy, and the events belong to that Source. */
	hasContender: boolean;
	/** How many shards there are. */
	shards: number;
	/** Names of the active Runs that load the Source's events. */
	runs: string[];
	/** What archive has said since it was asked. */
	answered?: ArchiveAnswer | undefined;
	/** When this process last wrote the Source's status; 0 if it never did. */
	statusWrittenMs: number;
}

/** What requests of the last reconcile came to. */
export interface DeletionOutcome {
	/** `put`: the source key is out of use. `foreign`: it belongs to another account. `lastError`: why NATS failed. */
	tombstone?: "put" | "foreign" | { lastError: string };
}

export async function readDeletion(
	context: OperatorContext & { shards: number },
	source: Source,
): Promise<Omit<DeletionState, "statusWrittenMs">> {
	const { name, namespace, uid } = source.metadata;
	const { client, informers } = context;
	// Without the Secret, the status says what to delete.
	const issued = await unlessNamespaceEnds(
		client,
		namespace!,
		() => readSecret(context, namespace!, keysSecretName(name)),
		undefined,
	);
	const keys = keysIn(issued, name);
	const sourceKey =
		typeof keys === "object" ? keys.sourceKey : source.status?.sourceKey;
	return {
		source,
		keys,
		shards: context.shards,
		// Only the Source that a key belongs to has it in its status.
		hasContender:
			sourceKey !== undefined &&
			informers.sources
				.withKey(namespace!, sourceKey)
				.some(({ metadata }) => metadata.uid !== uid),
		runs: loadingRuns(informers.runs.open(namespace!), sourceKey),
	};
}

/**
 * Names of the Runs whose Job loads events of the Source, or may, whatever their Pipelines refer to by now: a Job keeps what
 * it began with, also while its Pod waits.
 */
export function loadingRuns(
	runs: Run[],
	sourceKey: string | undefined,
): string[] {
	if (sourceKey === undefined) return [];
	return runs
		.filter(
			(run) =>
				run.status?.layout?.sourceKey === sourceKey &&
				mayHaveJob(run) &&
				!hasEnded(run),
		)
		.map(({ metadata }) => metadata.name)
		.sort();
}

/** From the status that is written before the Job is created. Without a Job, a Run whose Source is being deleted gets none. */
function mayHaveJob({ status }: Run): boolean {
	return status?.phase === "Running" || status?.attempts !== undefined;
}

/**
 * The answer to a request, or `gone` if it is refused because the namespace is being deleted: Kubernetes may have removed
 * the operator's binding there before the last object. A refusal in a namespace that stays is thrown.
 */
export async function unlessNamespaceEnds<T, Gone>(
	client: KubeClient,
	namespace: string,
	request: () => Promise<T>,
	gone: Gone,
): Promise<T | Gone> {
	try {
		return await request();
	} catch (error) {
		if (!hasReason(error, "Forbidden")) throw error;
		const found = await client.get(kinds.namespace, namespace);
		if (found && !found.metadata.deletionTimestamp) throw error;
		return gone;
	}
}
