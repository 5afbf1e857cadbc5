import type { NatsConnection } from "@nats-io/transport-node";
import { importSubject } from "../../../packages/contracts/nats.ts";
import { keptFrom } from "../../../packages/contracts/retention.ts";
import type {
	ImportAnswer,
	ImportRequest,
} from "../../../packages/contracts/transfer.ts";
import { dayMs, utcDate } from "../../../packages/contracts/utc-date.ts";
import type { FairLimit } from "../../../packages/fair/fair-limit.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { ObjectStore, PartStore } from "../../archive/s3/object-store.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { ManifestObjects } from "../manifest/manifest-objects.ts";
import { ManifestStore } from "../manifest/manifest-store.ts";
import type { ReleasedLedgers } from "../release/released-ledgers.ts";
import { RequestFailure } from "../request/errors.ts";
import { readImportRequest } from "../request/requests.ts";
import { requireTurn, requireUndeleted } from "../request/requirements.ts";
import { type RequestTask, Responder } from "../request/responder.ts";
import { RetentionStore } from "../retention/source-retention.ts";
import { SourceImport } from "./source-import.ts";

const maxTombstonesAgeMs = 60_000;
/** More than operator asks for at once. Archive isn't told of an Operation that is deleted, so its import still waits. */
const maxWaiting = 16;

export interface ImportOptions {
	connection: NatsConnection;
	shard: number;
	store: ObjectStore & PartStore;
	tombstones: Tombstones;
	/** Of all shards of this process, together with releases. */
	turns: FairLimit;
	released: Pick<ReleasedLedgers, "publish">;
	log: Logger;
}

/** Answers operator's requests to add the events of Imports to one shard's sources (packages/contracts/transfer.ts). */
export function answerImports(
	options: ImportOptions,
): Responder<ImportRequest> {
	const { connection, shard, log } = options;
	return new Responder({
		connection,
		subject: importSubject(shard),
		log,
		read: readImportRequest,
		answer: (request, task) => addImport(options, request, task),
	});
}

async function addImport(
	{ store, turns, tombstones, released, log }: ImportOptions,
	request: ImportRequest,
	task: RequestTask,
): Promise<ImportAnswer> {
	const { account, sourceKey, operation, parts } = request;
	requireTurn(turns, account, maxWaiting, "imports and releases");
	const idle = async () => {
		await tombstones.refresh(maxTombstonesAgeMs);
		requireUndeleted(tombstones, request);
	};
	const today = utcDate(Date.now());
	const retention = await new RetentionStore(store).of(request);
	// A Job that ran over midnight has seen one day more.
	const from = keptFrom(retention?.record, utcDate(Date.now() - dayMs));
	const manifests = new ManifestStore(store, new ManifestObjects(store));
	const found = await manifests.newest(operation);
	if (!found)
		throw new RequestFailure(
			"ObjectMissing",
			`The manifest of the Operation ${operation} is not in the bucket`,
		);
	const added = new SourceImport(
		{ store, idle, kept: { from, to: today } },
		request,
		found.manifest,
	);
	// Some dates of one part in each turn of the account: they take memory and a processor, which cutting needs. A part that
	// waits is in no memory.
	for (let part = 1; part <= parts; part++) {
		task.progress = () => `part ${part} of ${parts}`;
		for (let isLeft = true; isLeft; )
			isLeft = await turns.run(account, () => {
				task.stopping.throwIfAborted();
				return added.add(part);
			});
	}
	await released.publish(request);
	const { dates } = added;
	log.info({ operation, account, sourceKey, dates }, "imported events");
	return { ok: true, dates };
}
