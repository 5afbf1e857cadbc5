import "./allocator.ts";
import { parseLoadInput } from "../job/input.ts";
import { runJob } from "../job/process.ts";
import { load } from "./load.ts";

/** `tidemill load --input <file>`: carries out one Run (contracts/job.ts says what goes in and out). */
export async function main(args: string[]): Promise<number> {
	return runJob("load", args, parseLoadInput, load);
}
