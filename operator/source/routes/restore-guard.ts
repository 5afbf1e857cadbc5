import { annotation } from "../../../crds/labels.ts";
import type { SyncedMark } from "../../../packages/contracts/route.ts";
import {
	hasReason,
	type KubeClient,
} from "../../../packages/kube/client/client.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import type { ObjectKey } from "../../../packages/kube/resource.ts";
import type { Logger } from "../../../packages/service/log.ts";

/**
 * The marker for the routes bucket. If etcd is empty or another cluster's, Sources that have a route may be missing, whatever else is there: no route
 * may go until a person says that all resources are restored. A bucket that names no cluster is this one's: it is new, or an early build's.
 * @param cluster The one that the operator sees.
 */
export function decideMark(
	found: SyncedMark | undefined,
	cluster: string,
	isComplete: boolean,
): SyncedMark {
	const former = found?.cluster;
	return former === undefined || former === cluster || isComplete
		? { cluster }
		: { cluster: former, isRestoring: true };
}

/** Keeps the routes of Sources that a restore hasn't brought back yet. */
export class RestoreGuard {
	readonly #client: KubeClient;
	readonly #lease: ObjectKey;
	readonly #log: Logger;
	#cluster: string | undefined;
	#isAwaited = false;
	/** Whether the Lease says nothing of a restore. */
	#isOver = false;

	/** @param lease The operator's, which has a person's word. */
	constructor(client: KubeClient, lease: ObjectKey, log: Logger) {
		this.#client = client;
		this.#lease = lease;
		this.#log = log;
	}

	/** Whether a person must say that the cluster's resources are complete. */
	get isAwaited(): boolean {
		return this.#isAwaited;
	}

	/** Whether the marker or the Lease has still to say how a restore ended. */
	get isOpen(): boolean {
		return this.#isAwaited || (this.#cluster !== undefined && !this.#isOver);
	}

	/** See {@link decideMark}. Throws errors of Kubernetes. */
	async markOf(found: SyncedMark | undefined): Promise<SyncedMark> {
		try {
			this.#cluster ??= await this.#ownCluster();
		} catch (error) {
			if (!hasReason(error, "Forbidden")) throw error;
			this.#log.warn(
				"can't tell whether NATS has another cluster's routes: the operator may not get the namespace kube-system",
			);
			// As it is, so that routes are still published.
			return found ?? {};
		}
		const isOurs = !found?.isRestoring && found?.cluster === this.#cluster;
		if (isOurs && this.#isOver) return found;
		const { name, namespace } = this.#lease;
		const lease = await this.#client.get(kinds.lease, name, namespace);
		const said = lease?.metadata.annotations?.[annotation.restore];
		const mark = decideMark(found, this.#cluster, said === "complete");
		const isAwaited = mark.isRestoring === true;
		if (isAwaited && !this.#isAwaited)
			this.#log.warn(
				"NATS has the routes of another cluster: no route is removed until somebody runs tidemill restore --complete",
			);
		this.#isAwaited = isAwaited;
		// The word stays until the bucket's marker says the same.
		const wanted = isAwaited ? "awaited" : isOurs ? undefined : said;
		if (lease && said !== wanted)
			await this.#client.patch(
				kinds.lease,
				name,
				namespace,
				{ metadata: { annotations: { [annotation.restore]: wanted ?? null } } },
				"merge",
			);
		this.#isOver = isOurs;
		return mark;
	}

	/** No other object is there as long as the cluster is, and nobody can delete it. */
	async #ownCluster(): Promise<string> {
		const found = await this.#client.get(
			kinds.namespace,
			"kube-system",
			undefined,
			{ metadataOnly: true },
		);
		if (!found) throw new Error("there is no namespace kube-system");
		return found.metadata.uid!;
	}
}
