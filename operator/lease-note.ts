import { annotation } from "../crds/labels.ts";
import type { KubeClient } from "../packages/kube/client/client.ts";
import { kinds } from "../packages/kube/kinds.ts";
import type { ObjectKey } from "../packages/kube/resource.ts";
import type { Logger } from "../packages/service/log.ts";
import { pause } from "../packages/service/pause.ts";
import type { LedgerView } from "./reconcile/ledgers.ts";
import type { ShardBacklogs } from "./source/shard-backlogs.ts";

/** The operator's Lease, and how to write it. */
export interface LeaseNotes {
	client: KubeClient;
	lease: ObjectKey;
	log: Logger;
}

/**
 * Says something of the installation on the operator's Lease: `tidemill doctor` reads what Kubernetes has. Never throws; returns whether
 * the Lease says it.
 * @param text undefined for nothing to say.
 */
export async function noteOnLease(
	{ client, lease: { namespace, name }, log }: LeaseNotes,
	about: (typeof annotation)["natsAccount" | "stoppedShards"],
	text: string | undefined,
): Promise<boolean> {
	try {
		const lease = await client.get(kinds.lease, name, namespace);
		if (!lease) return false;
		if (lease.metadata.annotations?.[about] === text) return true;
		const annotations = { [about]: text ?? null };
		await client.patch(
			kinds.lease,
			name,
			namespace,
			{ metadata: { annotations } },
			"merge",
		);
		return true;
	} catch (err) {
		log.warn({ err, annotation: about }, "the Lease can't be annotated");
		return false;
	}
}

/** Why each shard stops events or Runs, by its number; undefined if none does. */
export function stoppedShards(
	backlogs: Pick<ShardBacklogs, "full">,
	ledgers: Pick<LedgerView, "shards">,
): string | undefined {
	const reasons: Record<number, string> = {};
	for (const { shard, stopped } of ledgers.shards)
		if (stopped) reasons[shard] = stopped.alarm ?? "ArchiveFails";
	for (const shard of backlogs.full) reasons[shard] ??= "BufferFull";
	return Object.keys(reasons).length > 0 ? JSON.stringify(reasons) : undefined;
}

const lookEveryMs = 5_000;

/** Keeps {@link stoppedShards} on the Lease until the signal. */
export async function noteStoppedShards(
	notes: LeaseNotes,
	read: () => string | undefined,
	signal: AbortSignal,
): Promise<void> {
	/** What the Lease is known to say. */
	let noted: { text: string | undefined } | undefined;
	while (!signal.aborted) {
		const text = read();
		if (!noted || noted.text !== text)
			noted = (await noteOnLease(notes, annotation.stoppedShards, text))
				? { text }
				: undefined;
		await pause(lookEveryMs, signal);
	}
}
