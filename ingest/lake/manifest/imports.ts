import type { ManifestDate } from "../../../packages/contracts/manifest.ts";
import { importSubject } from "../../../packages/contracts/nats.ts";
import { keptFrom } from "../../../packages/contracts/retention.ts";
import type {
	ImportAnswer,
	ImportRequest,
} from "../../../packages/contracts/transfer.ts";
import { dayMs, utcDate } from "../../../packages/contracts/utc-date.ts";
import { ErasureStore } from "../erasure/erasure-store.ts";
import type { ReleasedLedgers } from "../release/released-ledgers.ts";
import type { LakeContext } from "../request/context.ts";
import { RequestFailure } from "../request/errors.ts";
import { readImportRequest } from "../request/requests.ts";
import { requireTurn, requireUndeletedNow } from "../request/requirements.ts";
import type { LakeQuestion, RequestTask } from "../request/responder.ts";
import { RetentionStore } from "../retention/source-retention.ts";
import { ManifestObjects } from "./manifest-objects.ts";
import { ManifestStore } from "./manifest-store.ts";
import { SourceImport } from "./source-import.ts";

/** More than operator asks for at once. Archive isn't told of an Operation that is deleted, so its import still waits. */
const maxWaiting = 16;

/** Answers operator's requests to add the events of Imports to one shard's sources (packages/contracts/transfer.ts). */
export function answerImports(
	context: LakeContext,
	shard: number,
	released: Pick<ReleasedLedgers, "publish">,
): LakeQuestion<ImportRequest> {
	return {
		subject: importSubject(shard),
		read: readImportRequest,
		async answer(request, task): Promise<ImportAnswer> {
			const dates = await addImport(context, request, task);
			const { operation, account, sourceKey } = request;
			await released.publish(request);
			const { log } = context;
			log.info({ operation, account, sourceKey, dates }, "imported events");
			return { ok: true, dates };
		},
	};
}

async function addImport(
	context: LakeContext,
	request: ImportRequest,
	task: RequestTask,
): Promise<SourceImport["dates"]> {
	const { store, changing, tombstones } = context;
	const { account, operation, parts } = request;
	requireTurn(changing, account, maxWaiting, "imports and releases");
	const retention = await new RetentionStore(store).of(request);
	const manifests = new ManifestStore(context, new ManifestObjects(store));
	const found = await manifests.newest(operation);
	if (!found)
		throw new RequestFailure(
			"ObjectMissing",
			`The manifest of the Operation ${operation} is not in the bucket`,
		);
	const { manifest } = found;
	const erasures = new ErasureStore(store);
	const idle = async () => {
		await requireUndeletedNow(tombstones, request);
		await erasures.requireNoneSince(manifest);
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
	// Some dates of one part in each turn of the account: they take memory and a processor, which cutting needs. A part that
	// waits is in no memory.
	for (let part = 1; part <= parts; part++) {
		task.progress = () => `part ${part} of ${parts}`;
		for (let isLeft = true; isLeft; )
			isLeft = await changing.run(account, () => {
				task.stopping.throwIfAborted();
				return added.add(part);
			});
	}
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
