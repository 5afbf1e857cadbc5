import type { NatsConnection } from "@nats-io/transport-node";
import { exportSubject } from "../../../packages/contracts/nats.ts";
import type { ExportAnswer } from "../../../packages/contracts/transfer.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { FairLimit } from "../../../packages/fair/fair-limit.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { ObjectKeys } from "../../archive/s3/object-keys.ts";
import type { ObjectStore } from "../../archive/s3/object-store.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { RequestFailure } from "../request/errors.ts";
import { readExportRequest } from "../request/request.ts";
import { requireTurn } from "../request/require-turn.ts";
import { requireUndeleted } from "../request/require-undeleted.ts";
import { Responder } from "../request/responder.ts";
import { exportPage } from "./exports.ts";
import { ManifestObjects } from "./manifest-objects.ts";
import { ManifestStore } from "./manifest-store.ts";

/** Long enough to download a page. Whoever needs more asks again. */
const linkSeconds = 3_600;
/** Of one account. Who asks for more at once asks again. */
const maxWaiting = 16;

/** Answers the API's requests for links to the files of Exports (packages/contracts/transfer.ts), whatever the shard. */
export class ExportResponder {
	readonly #options: ExportResponderOptions;
	readonly #responder: Responder;
	/** Links take the processor. */
	readonly #turns = new FairLimit({ atOnce: 2 });

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
		requireUndeleted(tombstones, manifest);
		const seconds = await store.linkSeconds(linkSeconds);
		const expiresAt = new Date(Date.now() + seconds * 1000).toISOString();
		const folderOf = (date: UtcDate) => ({ account, sourceKey, date });
		requireTurn(this.#turns, account, maxWaiting, "pages of Exports");
		const page = await this.#turns.run(account, () =>
			exportPage(manifest.dates, after, {
				// Compaction may have replaced what the manifest names.
				current: (day) => objects.current(folderOf(day.date), day),
				withLinks: (some) => objects.withLinks(some, seconds),
			}),
		);
		return { ok: true, ...page, expiresAt };
	}
}

export interface ExportResponderOptions {
	connection: NatsConnection;
	store: ObjectStore;
	keys: ObjectKeys;
	tombstones: Tombstones;
	log: Logger;
}
