import { parseCheckInput } from "../load/input.ts";
import { runJob } from "../load/job.ts";
import { check } from "./check.ts";

/** `tidemill check --input <file>`: verifies a Destination (contracts/job.ts says what goes in and out). */
export async function main(args: string[]): Promise<number> {
	return runJob("check", args, parseCheckInput, check);
}
