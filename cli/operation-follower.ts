import { type Operation, operationKind } from "../crds/generated/types.ts";
import { hasEnded } from "../crds/operation.ts";
import { TransportError } from "../kube/client/errors.ts";
import { findCondition } from "../kube/conditions.ts";
import { awaitObject } from "../kube/watch/object-wait.ts";
import type { Cluster } from "./cluster.ts";
import { CommandError } from "./command.ts";

/**
 * Says on standard error what an Operation waits for or does until it ends, and returns it. Throws {@link CommandError} if it
 * is deleted before that.
 */
export async function followOperation(
	{ client, namespace }: Cluster,
	operation: Operation,
): Promise<Operation> {
	const { name } = operation.metadata;
	let said = "";
	const say = ({ status }: Operation) => {
		const message = findCondition(status?.conditions, "Complete")?.message;
		if (message === undefined || message === said) return;
		said = message;
		process.stderr.write(`${message}\n`);
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
