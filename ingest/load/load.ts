import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { JobResult, LoadInput } from "../../contracts/job.ts";
import type { Manifest } from "../../contracts/manifest.ts";
import { openDatabase } from "../duckdb/database.ts";
import { boundedMemory } from "../duckdb/memory.ts";
import { quoteText } from "../duckdb/quoting.ts";
import { Session } from "../duckdb/session.ts";
import { type LoadDay, planDays } from "./days.ts";
import { withDestination } from "./destination.ts";
import { downloadObjects } from "./download.ts";
import type { JobContext } from "./job.ts";
import { parseManifest } from "./manifest.ts";
import type { ExistingColumn } from "./misfit.ts";
import { checkObjects } from "./object-check.ts";
import { ObjectStore } from "./object-store.ts";
import { planLoad } from "./plan.ts";
import { carryOut } from "./transaction.ts";

/**
 * Carries out one Run: manifest → objects → checks → one transaction. The destination's file is held only for the last
 * step. Any step can fail or the process die: the table is then as it was, and the next attempt does all of it again.
 * Throws {@link JobFailure}.
 */
export async function load(
	input: LoadInput,
	context: JobContext,
): Promise<Extract<JobResult, { outcome: "Succeeded" }>> {
	const { log, signal } = context;
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
		await downloadObjects(days, log, signal);
		await checkDownloads(days, directory, signal);
		await withDestination(input.destination, context, async (session) => {
			const existing = await existingColumns(input.table.name, session);
			await carryOut(planLoad(input, days, existing), session, log);
		});
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

async function checkDownloads(
	days: LoadDay[],
	directory: string,
	signal: AbortSignal,
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
		await checkObjects(days, session);
	} finally {
		session.close();
	}
}

async function existingColumns(
	table: string,
	session: Session,
): Promise<ExistingColumn[] | undefined> {
	const columns = await session.rows<{ name: string; type: string }>(
		`SELECT column_name AS name, data_type AS type FROM information_schema.columns` +
			` WHERE table_catalog = current_database() AND table_schema = current_schema()` +
			` AND lower(table_name) = lower(${quoteText(table)}) ORDER BY ordinal_position`,
	);
	return columns.length > 0 ? columns : undefined;
}
