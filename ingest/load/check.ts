import type { CheckInput } from "../../packages/contracts/job.ts";
import {
	type JobContext,
	type JobOptions,
	type JobSuccess,
	parseCheckInput,
	runJob,
} from "../job/process.ts";
import { openWarehouse } from "./generated/warehouses.ts";

/** `tidemill check --input <file>`: verifies a Destination (packages/contracts/job.ts says what goes in and out). */
export async function main({ input }: JobOptions): Promise<number> {
	return runJob("check", input, parseCheckInput, check);
}

/** Verifies that a Destination can be written to from where its Runs write. Throws {@link JobFailure}. */
export async function check(
	{ destination }: CheckInput,
	context: JobContext,
): Promise<JobSuccess> {
	const warehouse = await openWarehouse(destination, context);
	try {
		await warehouse.check();
	} finally {
		await warehouse.close?.();
	}
	const { warning } = warehouse;
	return {
		version: 1,
		outcome: "Succeeded",
		rows: 0,
		bytes: 0,
		objects: 0,
		...(warning !== undefined && { warning }),
	};
}
