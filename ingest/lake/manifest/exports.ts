import { createHash } from "node:crypto";
import type {
	ManifestDate,
	ManifestObject,
} from "../../../packages/contracts/manifest.ts";
import type { ExportFile } from "../../../packages/contracts/transfer.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { FairLimit } from "../../../packages/fair/fair-limit.ts";
import type { LakeContext } from "../request/context.ts";
import { RequestFailure } from "../request/errors.ts";
import { requireTurn, requireUndeleted } from "../request/requirements.ts";
import type { Answers } from "../request/responder.ts";
import { ManifestObjects } from "./manifest-objects.ts";
import { ManifestStore } from "./manifest-store.ts";

/** Long enough to download a page. Whoever needs more asks again. */
const linkSeconds = 3_600;
/** Of one account. Who asks for more at once asks again. */
const maxWaiting = 16;

/** Answers the API's requests for links to the files of Exports (packages/contracts/transfer.ts), whatever the shard. */
export function answerExports(context: LakeContext): Answers["export"] {
	const { store, tombstones, counted } = context;
	const objects = new ManifestObjects(context);
	const manifests = new ManifestStore(context, objects);
	// Links take the processor.
	const turns = new FairLimit({ atOnce: 2 });
	return async ({ operation, account, after = "" }) => {
		const found = await manifests.newest(operation);
		if (!found || found.manifest.account !== account)
			throw new RequestFailure(
				"ExportMissing",
				`The bucket has no list of the files of Operation ${operation} of ${account}`,
			);
		const { manifest } = found;
		const { sourceKey } = manifest;
		await tombstones.refresh();
		requireUndeleted(tombstones, manifest);
		await counted.requireNoneSince(manifest);
		const seconds = await store.linkSeconds(linkSeconds);
		const expiresAt = new Date(Date.now() + seconds * 1000).toISOString();
		const folderOf = (date: UtcDate) => ({ account, sourceKey, date });
		requireTurn(turns, account, maxWaiting, "pages of Exports");
		const page = await turns.run(account, () =>
			exportPage(manifests.datesOf(found), after, {
				// Compaction may have replaced what the manifest names.
				current: (day) => objects.current(folderOf(day.date), day),
				withLinks: (some) => objects.withLinks(some, seconds),
			}),
		);
		return { ok: true, ...page, expiresAt };
	};
}

/** NATS takes messages of some megabytes, and a link has a few kB. */
const filesOfPage = 200;

type Unlinked = Omit<ManifestObject, "url">;

/**
 * The files behind the cursor `after`: a date, or a number of files of that date with the digest of their list. Throws
 * {@link RequestFailure} CursorExpired if compaction has replaced some of them: what came before may hold the same events.
 * If a date fails, the pages before it come first.
 */
export async function exportPage(
	dates: AsyncIterable<ManifestDate> | Iterable<ManifestDate>,
	after: string,
	objects: {
		/** Those that hold the day's events now, always in the same order. */
		current(day: ManifestDate): Promise<Unlinked[]>;
		withLinks(some: Unlinked[]): Promise<ManifestObject[]>;
	},
): Promise<{ files: ExportFile[]; next?: string }> {
	const [from = "", taken, list] = after.split(".");
	const files: ExportFile[] = [];
	/** The date before, whose files are all on this page. */
	let before = "";
	for await (const day of dates) {
		const { date, rows } = day;
		const isBegun = date === from;
		if (rows === 0 || date < from || (isBegun && taken === undefined)) continue;
		if (files.length >= filesOfPage) return { files, next: before };
		const all = await objects.current(day).catch((error) => {
			// The next page says it, so who downloads has the other dates.
			if (files.length === 0) throw error;
			return undefined;
		});
		if (!all) return { files, next: before };
		const digest = digestOf(all.map(({ key }) => key).join("\n"));
		if (isBegun && digest !== list)
			throw new RequestFailure(
				"CursorExpired",
				`The files of ${date} were replaced since the page before`,
			);
		const first = isBegun ? Number(taken) : 0;
		const end = first + filesOfPage - files.length;
		for (const { key, url, rows, bytes } of await objects.withLinks(
			all.slice(first, end),
		)) {
			const name = `${date}-${digestOf(key)}.parquet`;
			files.push({ date, name, rows, bytes, url });
		}
		if (end < all.length) return { files, next: `${date}.${end}.${digest}` };
		before = date;
	}
	return { files };
}

/** Short and without a word about streams. */
function digestOf(text: string): string {
	return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
