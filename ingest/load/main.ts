import "./allocator.ts";
import { type JobOptions, parseLoadInput, runJob } from "../job/process.ts";
import { load } from "./load.ts";

/** `tidemill load --input <file>`: carries out one Run (packages/contracts/job.ts says what goes in and out). */
export async function main({ input }: JobOptions): Promise<number> {
	return runJob("load", input, parseLoadInput, load);
}
