import type { LeaderElection } from "../kube/lease/lease.ts";
import type { ControllerLoop } from "../kube/reconcile/controller.ts";
import type { KubeObject } from "../kube/resource.ts";
import type { Informer } from "../kube/watch/informer.ts";

/** What the operator's health rests on. */
export interface OperatorParts {
	/** NATS could be reached once; from then on the client reconnects by itself. */
	hasNats: boolean;
	informers: Pick<Informer<KubeObject>, "kind" | "hasSynced" | "silentMs">[];
	/** None while it waits for NATS. */
	loops: Pick<ControllerLoop, "name" | "longestWorkMs">[];
	election: Pick<LeaderElection, "isOverdue">;
}

/**
 * Why a restart is needed, undefined when it isn't. An event loop that hangs gives no answer at all, which is one, too.
 */
export function reasonNotAlive({
	loops,
	election,
}: OperatorParts): string | undefined {
	if (election.isOverdue)
		return "the lease has run out, and this process has not noticed";
	const stuck = loops.find(({ longestWorkMs }) => longestWorkMs > stuckMs);
	return (
		stuck &&
		`a worker of controller ${stuck.name} has been at one object for ${minutes(stuck.longestWorkMs)}`
	);
}

/** Why decisions would rest on too little, undefined when they don't. */
export function reasonNotReady({
	hasNats,
	informers,
}: OperatorParts): string | undefined {
	if (!hasNats) return "waiting for NATS";
	const names = (those: OperatorParts["informers"]) =>
		those.map(({ kind }) => kind.plural).join(", ");
	const unlisted = informers.filter(({ hasSynced }) => !hasSynced);
	if (unlisted.length > 0)
		return `waiting for the apiserver to list ${names(unlisted)}`;
	const silent = informers.filter(({ silentMs }) => silentMs > oldMs);
	if (silent.length > 0)
		return `the apiserver has said nothing for more than ${minutes(oldMs)} of ${names(silent)}`;
	return undefined;
}

/** Each request has a deadline, of a minute at most, and no object needs more than a few. */
const stuckMs = 10 * 60_000;
/** A watch in which nothing was heard for 150 s is given up; it has half a minute to come back. */
const oldMs = 3 * 60_000;

function minutes(ms: number): string {
	return `${Math.round(ms / 60_000)} minutes`;
}
