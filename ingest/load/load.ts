import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { JobResult, LoadInput } from "../../contracts/job.ts";
import type { Manifest } from "../../contracts/manifest.ts";
import { trustAuthorities } from "../../service/trusted-authorities.ts";
import { openDatabase } from "../duckdb/database.ts";
import { boundedMemory } from "../duckdb/memory.ts";
import { Session } from "../duckdb/session.ts";
import { type LoadDay, planDays } from "./days.ts";
import { openDestination } from "./destination.ts";
import { downloadObjects } from "./fetch/download.ts";
import { parseManifest } from "./fetch/manifest.ts";
import { checkObjects } from "./fetch/object-check.ts";
import { ObjectStore } from "./fetch/object-store.ts";
import type { JobContext } from "./job.ts";

/**
 * Carries out one Run: manifest → objects → checks → destination, which is touched only by the last step. Any step can
 * fail or the process die: each day in the table is then the old one or the new one, and the next attempt does the rest.
 * Throws {@link JobFailure}.
 */
export async function load(
	input: LoadInput,
	context: JobContext,
): Promise<Extract<JobResult, { outcome: "Succeeded" }>> {
	const { log, signal } = context;
	if (input.authorities !== undefined) trustAuthorities(input.authorities);
	const store = new ObjectStore(log, signal);
	const manifest = parseManifest(
		await store.text({
			name: "manifest of the Run",
			url: input.manifestURL,
			unavailable: "ManifestUnavailable",
		}),
		input.run.uid,
	);
	const directory = await mkdtemp(join(context.scratch, "load-"));
	try {
		const days = planDays(manifest, directory);
		const result = summary(manifest);
		const { rows, bytes, objects } = result;
		log.info(
			{ days: days.length, rows, bytes, objects },
			"downloading the objects",
		);
		await downloadAndCheck(days, directory, context);
		const destination = await openDestination(input.destination, context);
		await destination.load(input, days, Date.parse(manifest.snapshotTime));
		return result;
	} finally {
		await rm(directory, { recursive: true, force: true });
	}
}

function summary({
	dates,
}: Manifest): Extract<JobResult, { outcome: "Succeeded" }> {
	const objects = dates.flatMap((day) => day.objects);
	const [first, last] = [dates.at(0), dates.at(-1)];
	return {
		version: 1,
		outcome: "Succeeded",
		rows: objects.reduce((sum, { rows }) => sum + rows, 0),
		bytes: objects.reduce((sum, { bytes }) => sum + bytes, 0),
		objects: objects.length,
		...(first && last && { dates: { start: first.date, end: last.date } }),
	};
}

/** What is wrong with any of the objects is known before the destination is touched. */
async function downloadAndCheck(
	days: LoadDay[],
	directory: string,
	{ log, signal }: JobContext,
): Promise<void> {
	const session = await Session.open(
		await openDatabase({
			file: ":memory:",
			waitMs: 0,
			config: boundedMemory(directory),
		}),
		signal,
	);
	try {
		const check = (day: LoadDay) => checkObjects(day, session);
		await downloadObjects(days, check, log, signal);
	} finally {
		session.close();
	}
}
