import { type JobOptions, runJob } from "../job/process.ts";
import { parseOperationInput, performOperation } from "./operation.ts";

/** `tidemill operation --input <file>`: carries out one Operation (packages/contracts/operation.ts says what goes in and out). */
export async function main({ input }: JobOptions): Promise<number> {
	return runJob("operation", input, parseOperationInput, performOperation);
}
