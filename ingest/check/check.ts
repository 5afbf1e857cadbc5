import type { CheckInput, JobResult } from "../../contracts/job.ts";
import { openDestination } from "../load/destination.ts";
import type { JobContext } from "../load/job.ts";

/** Verifies that a Destination can be written to, from where its Runs will write. Throws {@link JobFailure}. */
export async function check(
	{ destination }: CheckInput,
	context: JobContext,
): Promise<Extract<JobResult, { outcome: "Succeeded" }>> {
	await (await openDestination(destination, context)).check();
	return { version: 1, outcome: "Succeeded", rows: 0, bytes: 0, objects: 0 };
}
