import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { LoadInput } from "../../contracts/job.ts";
import type { Manifest } from "../../contracts/manifest.ts";
import { trustAuthorities } from "../../service/trusted-authorities.ts";
import { boundedMemory } from "../duckdb/memory.ts";
import { Session } from "../duckdb/session.ts";
import type { JobContext, JobSuccess } from "../job/process.ts";
import { leaveOutOmitted } from "./body/omitted-properties.ts";
import { withoutReleased } from "./body/released-events.ts";
import { UnfitCount } from "./body/unfit-count.ts";
import { openDestination } from "./destination-by-type.ts";
import { downloadObjects } from "./fetch/download.ts";
import { LinkReader } from "./fetch/link-reader.ts";
import { type LoadDay, planDays, planQuarantine } from "./fetch/load-days.ts";
import { parseManifest } from "./fetch/manifest.ts";
import { checkObjects } from "./fetch/object-check.ts";
import { storeLog, storeResult } from "./fetch/result-link.ts";

/**
 * Carries out one Run: manifest → objects → checks → destination. Only the last step touches the destination. If a step
 * fails or the process dies, each day in the table is the old one or the new one, and the next attempt loads the rest.
 * Throws {@link JobFailure}.
 */
export async function load(
	input: LoadInput,
	context: JobContext,
): Promise<JobSuccess> {
	const { log, signal } = context;
	if (input.authorities !== undefined) trustAuthorities(input.authorities);
	const manifest = parseManifest(
		await new LinkReader(log, signal).text({
			name: "the Run's manifest",
			url: input.manifestURL,
			unavailable: "ManifestUnavailable",
		}),
		input.run.uid,
	);
	context.trace?.loads(
		manifest.dates.flatMap(({ objects }) => objects.map(({ key }) => key)),
	);
	const { result: link, logs } = manifest;
	if (link) context.onResult((result) => storeResult(link, result, log));
	if (logs)
		context.onResult((result, text) => storeLog(logs, result, text, log));
	const directory = await mkdtemp(join(context.scratch, "load-"));
	try {
		const { table, quarantineTable } = input;
		const days = planDays(manifest, directory);
		let apart = quarantineTable && planQuarantine(manifest, directory);
		const result = resultOf(manifest);
		const { rows, bytes, objects } = result;
		const { name: run, pipeline, account } = input.run;
		log.info(
			{ run, pipeline, account, days: days.length, rows, bytes, objects },
			"downloading the objects",
		);
		const unfit = new UnfitCount(table.columns);
		await downloadAndCheck(
			[...days, ...(apart ?? [])],
			async (day, session) => {
				if (days.includes(day)) await unfit.add(day, session);
			},
			async (session) => {
				for (const [index, day] of apart?.entries() ?? [])
					apart = apart?.with(
						index,
						await withoutReleased(day, days[index]!, session),
					);
			},
			directory,
			context,
		);
		const destination = await openDestination(input.destination, context);
		await destination.load(input, manifest, days);
		if (apart && quarantineTable)
			await destination.load(
				{ ...input, table: quarantineTable },
				manifest,
				apart,
			);
		const unfitValues = unfit.list();
		return {
			...result,
			...(apart && {
				quarantinedRows: apart.reduce((sum, { rows }) => sum + rows, 0),
			}),
			...(unfitValues.length > 0 && { unfitValues }),
		};
	} finally {
		await rm(directory, { recursive: true, force: true });
	}
}

function resultOf({ dates }: Manifest): JobSuccess {
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

/**
 * Checks every object before the destination is touched, and leaves out what tracking plans omit. `look` gets each day
 * after that, and `finish` is called when all are there.
 */
async function downloadAndCheck(
	days: LoadDay[],
	look: (day: LoadDay, session: Session) => Promise<void>,
	finish: (session: Session) => Promise<void>,
	directory: string,
	{ log, signal }: JobContext,
): Promise<void> {
	const session = await Session.inMemory(boundedMemory(directory), signal);
	try {
		const check = async (day: LoadDay) => {
			await checkObjects(day, session);
			await leaveOutOmitted(day, session);
			await look(day, session);
		};
		await downloadObjects(days, check, log, signal);
		await finish(session);
	} finally {
		session.close();
	}
}
