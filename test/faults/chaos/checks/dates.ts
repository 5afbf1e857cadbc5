import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CompactionRecord } from "../../../../ingest/lake/compaction/record.ts";
import type { Route } from "../../../../packages/contracts/route.ts";
import type { UtcDate } from "../../../../packages/contracts/utc-date.ts";
import type { Scene } from "../scene/scene.ts";

/** A date of one of the seed's Sources, and the names of its objects: those of its events, or those in quarantine. */
export interface DateObjects {
	route: Route;
	quarantined: boolean;
	date: UtcDate;
	names: string[];
}

/** What the bucket has of the seed's Sources. */
export async function datesOf(scene: Scene): Promise<DateObjects[]> {
	const folders = scene.routes.flatMap((route) =>
		[false, true].map((quarantined) => ({ route, quarantined })),
	);
	const dates = folders.map(async ({ route, quarantined }) => {
		const all = quarantined ? "quarantine" : "events";
		const folder = join(scene.directory, all, folderOf(route));
		const names = await readdir(folder).catch(() => []);
		return names.map(async (name) => ({
			route,
			quarantined,
			date: name.replace(/^date=/, ""),
			names: (await readdir(join(folder, name))).filter((file) =>
				file.endsWith(".parquet"),
			),
		}));
	});
	return Promise.all((await Promise.all(dates)).flat());
}

/** The compaction records of the seed. */
export async function recordsOf(scene: Scene): Promise<CompactionRecord[]> {
	const records = (await datesOf(scene)).map((each) => recordOf(scene, each));
	return (await Promise.all(records)).filter((record) => record !== undefined);
}

/** undefined for a date that isn't compacted. */
export async function recordOf(
	scene: Scene,
	date: DateObjects,
): Promise<CompactionRecord | undefined> {
	const file = recordFile(scene, date);
	return existsSync(file)
		? JSON.parse(await readFile(file, "utf8"))
		: undefined;
}

/** Where the date's compaction record is, or will be. */
export function recordFile(
	scene: Scene,
	{ route, date, quarantined }: DateObjects,
): string {
	const records = quarantined ? "quarantine-compactions" : "compactions";
	const folder = join(scene.directory, records, folderOf(route));
	return join(folder, `date=${date}.json`);
}

function folderOf({ account, sourceKey }: Route): string {
	return `account=${account}/source=${sourceKey}`;
}
