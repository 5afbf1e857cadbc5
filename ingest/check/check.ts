import { randomUUID } from "node:crypto";
import type { CheckInput, JobResult } from "../../contracts/job.ts";
import { quoteName } from "../duckdb/quoting.ts";
import { withDestination } from "../load/destination.ts";
import { JobFailure } from "../load/errors.ts";
import type { JobContext } from "../load/job.ts";

/** A Destination shouldn't look unready for a minute because somebody reads its file. */
const busyWaitMs = 5_000;

/**
 * Verifies that a Destination can be written to: opens (or makes) its DuckDB file and commits a table that is gone again.
 * A file in use is no fault: whoever has it open found it sound, and every Run waits for it by itself.
 * Throws {@link JobFailure}.
 */
export async function check(
	input: CheckInput,
	context: JobContext,
): Promise<Extract<JobResult, { outcome: "Succeeded" }>> {
	try {
		await withDestination(
			input.destination,
			{ ...context, busyWaitMs: Math.min(busyWaitMs, context.busyWaitMs) },
			async (session) => {
				const probe = quoteName(`tidemill_check_${randomUUID()}`);
				await session.run(`CREATE TABLE ${probe} (written TIMESTAMPTZ)`);
				await session.run(`DROP TABLE ${probe}`);
				await session.run("CHECKPOINT");
			},
		);
	} catch (error) {
		if (!(error instanceof JobFailure) || error.code !== "DestinationBusy")
			throw error;
		context.log.info("the DuckDB file is in use, so it was not written to");
	}
	return { version: 1, outcome: "Succeeded", rows: 0, bytes: 0, objects: 0 };
}
