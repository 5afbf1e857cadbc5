import { createHash } from "node:crypto";
import type { NatsConnection } from "@nats-io/transport-node";
import { exportSubject } from "../../../contracts/nats.ts";
import type {
	ExportAnswer,
	ExportFile,
} from "../../../contracts/stored/export.ts";
import type { Logger } from "../../../service/log.ts";
import { RequestFailure } from "../request/errors.ts";
import { readExportRequest } from "../request/request.ts";
import { Responder } from "../request/responder.ts";
import type { ObjectKeys } from "../s3/object-keys.ts";
import type { ObjectStore } from "../s3/object-store.ts";
import type { Tombstones } from "../write/tombstones.ts";
import { ManifestObjects } from "./manifest-objects.ts";
import { ManifestStore } from "./manifest-store.ts";

/** Long enough to download a page. Whoever needs more asks again. */
const linkSeconds = 3_600;
/** A page ends with the date that reaches it. NATS takes messages of some megabytes, and a link has up to 2 kB. */
const filesOfPage = 200;

/** Answers the API's requests for links to the files of Exports (contracts/stored/export.ts), whatever the shard. */
export class ExportResponder {
	readonly #options: ExportResponderOptions;
	readonly #responder: Responder;

	constructor(options: ExportResponderOptions) {
		this.#options = options;
		const { connection, log } = options;
		this.#responder = new Responder({
			connection,
			subject: exportSubject,
			log,
			answer: (text) => this.#answer(text),
		});
	}

	close(): void {
		this.#responder.close();
	}

	async #answer(text: string): Promise<ExportAnswer> {
		const { store, keys, tombstones } = this.#options;
		const { operation, account, after = "" } = readExportRequest(text);
		const objects = new ManifestObjects(store, keys);
		const found = await new ManifestStore(store, keys, objects).newest(
			operation,
		);
		if (!found || found.manifest.account !== account)
			throw new RequestFailure(
				"ExportMissing",
				`The bucket has no list of the files of Operation ${operation} of ${account}`,
			);
		const { manifest } = found;
		const { sourceKey } = manifest;
		await tombstones.refresh();
		if (tombstones.has(manifest))
			throw new RequestFailure(
				"SourceDeleted",
				`The events of source ${sourceKey} of ${account} are deleted`,
			);
		const seconds = await store.linkSeconds(linkSeconds);
		const expiresAt = new Date(Date.now() + seconds * 1000).toISOString();
		const left = manifest.dates.filter(
			({ date, rows }) => date > after && rows > 0,
		);
		const files: ExportFile[] = [];
		for (const [index, day] of left.entries()) {
			const { date } = day;
			// Compaction may have replaced what the manifest names.
			const renewed = await objects.renew(
				{ account, sourceKey, date },
				day,
				seconds,
			);
			files.push(
				...renewed.objects.map(({ key, url, rows, bytes }) => ({
					date,
					name: nameOf(date, key),
					rows,
					bytes,
					url,
				})),
			);
			const hasMore = index < left.length - 1;
			if (hasMore && files.length >= filesOfPage)
				return { ok: true, files, next: date, expiresAt };
		}
		return { ok: true, files, expiresAt };
	}
}

/** Short and without a word about streams. */
function nameOf(date: string, key: string): string {
	const digest = createHash("sha256").update(key).digest("hex").slice(0, 16);
	return `${date}-${digest}.parquet`;
}

export interface ExportResponderOptions {
	connection: NatsConnection;
	store: ObjectStore;
	keys: ObjectKeys;
	tombstones: Tombstones;
	log: Logger;
}
