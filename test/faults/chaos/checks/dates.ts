import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CompactionRecord } from "../../../../ingest/lake/compaction/record.ts";
import type { Route } from "../../../../packages/contracts/route.ts";
import type { UtcDate } from "../../../../packages/contracts/utc-date.ts";
import type { Scene } from "../scene/scene.ts";

/** A date of one of the seed's Sources, and the names of its objects. */
export interface DateObjects {
	route: Route;
	date: UtcDate;
	names: string[];
}

/** What the bucket has of the seed's Sources. */
export async function datesOf(scene: Scene): Promise<DateObjects[]> {
	const dates = scene.routes.map(async (route) => {
		const folder = join(scene.directory, "events", folderOf(route));
		const names = await readdir(folder).catch(() => []);
		return names.map(async (name) => ({
			route,
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
	const records = (await datesOf(scene)).flatMap((each) => [
		recordOf(scene, each),
		recordOf(scene, each, "quarantine-compactions"),
	]);
	return (await Promise.all(records)).filter((record) => record !== undefined);
}

/** undefined for a date that isn't compacted. */
export async function recordOf(
	scene: Scene,
	date: DateObjects,
	records?: string,
): Promise<CompactionRecord | undefined> {
	const file = recordFile(scene, date, records);
	return existsSync(file)
		? JSON.parse(await readFile(file, "utf8"))
		: undefined;
}

/** Where the date's compaction record is, or will be. */
export function recordFile(
	scene: Scene,
	{ route, date }: DateObjects,
	records = "compactions",
): string {
	const folder = join(scene.directory, records, folderOf(route));
	return join(folder, `date=${date}.json`);
}

function folderOf({ account, sourceKey }: Route): string {
	return `account=${account}/source=${sourceKey}`;
}
