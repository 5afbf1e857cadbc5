import type { ManifestDate } from "../../../packages/contracts/manifest.ts";
import { keptFrom } from "../../../packages/contracts/retention.ts";
import type { ImportRequest } from "../../../packages/contracts/transfer.ts";
import { dayMs, utcDate } from "../../../packages/contracts/utc-date.ts";
import type { AddedLedgers } from "../addition/added-ledgers.ts";
import { type AddedDates, addInTurns } from "../addition/addition-turns.ts";
import type { LakeContext } from "../request/context.ts";
import { RequestFailure } from "../request/errors.ts";
import { requireUndeletedNow } from "../request/requirements.ts";
import type { Answers, RequestTask } from "../request/responder.ts";
import { RetentionStore } from "../retention/source-retention.ts";
import { ManifestObjects } from "./manifest-objects.ts";
import { ManifestStore } from "./manifest-store.ts";
import { SourceImport } from "./source-import.ts";

/** Answers operator's requests to add the events of Imports to one shard's sources (packages/contracts/transfer.ts). */
export function answerImports(
	context: LakeContext,
	added: Pick<AddedLedgers, "publish">,
): Answers["import"] {
	return async (request, task) => {
		const dates = await addImport(context, request, task);
		const { operation, account, sourceKey } = request;
		await added.publish(request);
		const { log } = context;
		log.info({ operation, account, sourceKey, dates }, "imported events");
		return { ok: true, dates };
	};
}

async function addImport(
	context: LakeContext,
	request: ImportRequest,
	task: RequestTask,
): Promise<AddedDates> {
	const { store, changing, tombstones, counted } = context;
	const { account, operation, parts } = request;
	const retention = await new RetentionStore(store).of(request);
	const manifests = new ManifestStore(context, new ManifestObjects(context));
	const found = await manifests.newest(operation);
	if (!found)
		throw new RequestFailure(
			"ObjectMissing",
			`The manifest of the Operation ${operation} is not in the bucket`,
		);
	const { manifest } = found;
	const idle = async () => {
		await requireUndeletedNow(tombstones, request);
		await counted.requireNoneSince(manifest);
	};
	const { snapshotTime } = manifest;
	const nowMs = nowSince(Date.parse(snapshotTime), Date.now());
	const kept = {
		// A Job that ran over midnight has seen one day more.
		from: keptFrom(retention?.record, utcDate(nowMs - dayMs)),
		to: utcDate(nowMs),
	};
	const added = new SourceImport(
		{ store, idle, kept },
		request,
		await keysIn(manifests.datesOf(found)),
	);
	// A part that waits is in no memory.
	const works = Array.from({ length: parts }, (_, at) => ({
		name: `part ${at + 1} of ${parts}`,
		next: () => added.add(at + 1),
	}));
	await addInTurns(account, works, changing, task);
	return added.dates;
}

/** The Job has looked for the same events in these. */
async function keysIn(
	dates: AsyncIterable<ManifestDate>,
): Promise<Set<string>> {
	const keys = new Set<string>();
	for await (const { objects } of dates)
		for (const { key } of objects) keys.add(key);
	return keys;
}

/**
 * The time now, as far as this process's clock can be believed: NATS's and operator's agreed with it on the snapshot, and a Job ends
 * within a day of it. Otherwise good rows would be refused for good.
 */
export function nowSince(snapshotMs: number, nowMs: number): number {
	return Math.min(Math.max(nowMs, snapshotMs), snapshotMs + dayMs);
}
