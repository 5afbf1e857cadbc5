import {
	type Operation,
	type OperationSpec,
	operationKind,
} from "../../crds/generated/types.ts";
import { hasEnded, operationName } from "../../crds/operation.ts";
import { TransportError } from "../../packages/kube/client/errors.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { awaitObject } from "../../packages/kube/watch/object-wait.ts";
import type { Cluster } from "../command/cluster.ts";
import { CommandError } from "../command/errors.ts";
import { ProgressLines } from "./progress-lines.ts";

/** Creates an Operation, and returns it once it has succeeded. Throws {@link CommandError} if it ends otherwise. */
export async function performOperation(
	cluster: Cluster,
	spec: Partial<OperationSpec> & Pick<OperationSpec, "type" | "sourceRef">,
): Promise<Operation> {
	const { client, namespace } = cluster;
	const name = operationName(spec.sourceRef.name, spec.type);
	const created = await client.create<Operation>(
		operationKind,
		{ metadata: { name, namespace }, spec } as Operation,
		{ fieldManager: "tidemill" },
	);
	const lines = new ProgressLines();
	lines.say({ operation: name }, `Operation ${name}`);
	const ended = await followOperation(cluster, created, lines);
	lines.note({ operation: name, ...outcomeOf(ended) });
	const { phase, error } = ended.status ?? {};
	if (phase === "Succeeded") return ended;
	throw new CommandError(
		error
			? `${name} failed: ${error.message} (${error.code})`
			: `${name} was cancelled.`,
	);
}

/**
 * Says on standard error what an Operation waits for or does until it ends, and returns it. Throws {@link CommandError} if it
 * is deleted before that.
 */
async function followOperation(
	{ client, namespace }: Cluster,
	operation: Operation,
	lines: ProgressLines,
): Promise<Operation> {
	const { name } = operation.metadata;
	const say = ({ status }: Operation) => {
		const message = findCondition(status?.conditions, "Complete")?.message;
		const phase = status?.phase ?? "Pending";
		if (message !== undefined)
			lines.say({ operation: name, phase, message }, message);
	};
	try {
		const last = await awaitObject(
			client,
			operationKind,
			operation,
			(seen) => {
				if (hasEnded(seen)) return true;
				say(seen);
				return false;
			},
			// Never fires: Ctrl-C ends the command, and the Operation continues.
			new AbortController().signal,
		);
		if (last) return last;
		throw new CommandError(
			`${name} in namespace ${namespace} was deleted before it ended.`,
		);
	} catch (error) {
		if (!(error instanceof TransportError)) throw error;
		throw new CommandError(
			`the cluster is unreachable: ${error.message}. The operation continues. See how it ended with: kubectl get operation ${name} -n ${namespace}`,
		);
	}
}

function outcomeOf({ status = {} }: Operation): object {
	const { phase, error } = status;
	return { phase, error };
}
