import { maxClockDifferenceMs } from "../packages/contracts/utc-date.ts";
import type { ServerClock } from "../packages/kube/client/server-clock.ts";
import type { ControllerLoop } from "../packages/kube/reconcile/controller.ts";
import type { LeaderElection } from "../packages/kube/reconcile/lease.ts";
import type { KubeObject } from "../packages/kube/resource.ts";
import type { Informer } from "../packages/kube/watch/informer.ts";
import type { NatsState } from "../packages/service/nats/connection.ts";
import type { NamespacePermissions } from "./reconcile/namespace-permissions.ts";
import type { RestoreGuard } from "./source/routes/restore-guard.ts";

/** What the operator's health depends on. */
export interface OperatorParts {
	/** NATS was reached once. From then on the client reconnects by itself. */
	hasNats: boolean;
	natsState: Pick<NatsState, "reason" | "isRefused">;
	/** What NATS lacks and only archive can make, while none runs. */
	noArchive(): string | undefined;
	permissions: Pick<NamespacePermissions, "missingEverywhere">;
	informers: Pick<Informer<KubeObject>, "kind" | "hasSynced" | "silentMs">[];
	/** Empty until NATS is reached. */
	loops: Pick<ControllerLoop, "name" | "longestWorkMs">[];
	election: Pick<LeaderElection, "isOverdue">;
	/** Undefined until NATS is reached. */
	restore?: Pick<RestoreGuard, "isAwaited">;
	clock: Pick<ServerClock, "aheadMs">;
}

/** Why the process needs a restart; undefined if it doesn't. A hanging event loop gives no answer, which counts as well. */
export function reasonNotAlive({
	loops,
	election,
}: OperatorParts): string | undefined {
	if (election.isOverdue)
		return "the lease has expired, and this process has not noticed";
	const stuck = loops.find(({ longestWorkMs }) => longestWorkMs > stuckMs);
	return (
		stuck &&
		`a worker of controller ${stuck.name} has worked on one object for ${minutes(stuck.longestWorkMs)}`
	);
}

/** Why the operator knows too little to decide; undefined if it knows enough. */
export function reasonNotReady({
	hasNats,
	natsState,
	permissions,
	informers,
	noArchive,
}: OperatorParts): string | undefined {
	if (natsState.isRefused) return natsState.reason;
	if (!hasNats) return "waiting for NATS";
	const names = (those: OperatorParts["informers"]) =>
		those.map(({ kind }) => kind.plural).join(", ");
	const unlisted = informers.filter(({ hasSynced }) => !hasSynced);
	if (unlisted.length > 0)
		return (
			permissions.missingEverywhere ??
			// It claims its NATS before it lists anything.
			noArchive() ??
			`waiting for the apiserver to list ${names(unlisted)}`
		);
	const silent = informers.filter(({ silentMs }) => silentMs > oldMs);
	if (silent.length > 0)
		return `the apiserver has sent nothing about ${names(silent)} for more than ${minutes(oldMs)}`;
	return undefined;
}

/** What a person must do although the operator is ready; undefined if nothing. A restore brings the resources only once the release is healthy. */
export function notice({
	restore,
	clock,
	noArchive,
}: OperatorParts): string | undefined {
	const notices = [
		...(restore?.isAwaited
			? [
					"NATS has the routes of another cluster: restore the resources, then run tidemill restore --complete",
				]
			: []),
		...clockNotices(clock.aheadMs),
		...[noArchive() ?? []].flat(),
	];
	return notices.length > 0 ? notices.join("; ") : undefined;
}

function clockNotices(aheadMs = 0): string[] {
	if (Math.abs(aheadMs) <= maxClockDifferenceMs) return [];
	const seconds = Math.round(Math.abs(aheadMs) / 1_000);
	return [
		`this node's clock is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} the apiserver's: synchronise it by NTP. Schedules follow it`,
	];
}

/** Each request has a deadline of at most a minute, and no object needs more than a few. */
const stuckMs = 10 * 60_000;
/** A watch restarts after 150 s of silence, and then has half a minute to come back. */
const oldMs = 3 * 60_000;

function minutes(ms: number): string {
	return `${Math.round(ms / 60_000)} minutes`;
}
