import {
	type Condition,
	findCondition,
} from "../../packages/kube/conditions.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";
import { CommandError } from "../command/errors.ts";
import { nameOf } from "../output/objects.ts";

export type Judged = KubeObject & { status?: { conditions?: Condition[] } };

/** The Ready condition of an object that is ready. Throws {@link CommandError} with the reason of one that isn't. */
export function requireReady(
	object: Judged,
	called = nameOf(object),
): Condition {
	const ready = readyOf(object);
	if (ready?.status === "True") return ready;
	throw new CommandError(
		ready
			? `${called} isn't ready: ${ready.message} (${ready.reason})`
			: `${nameOf(object)} has no status yet. See: kubectl describe ${nameOf(object)} -n ${object.metadata.namespace}`,
	);
}

export function isReady(object: Judged): boolean {
	return readyOf(object)?.status === "True";
}

function readyOf({ status }: Judged): Condition | undefined {
	return findCondition(status?.conditions, "Ready");
}
