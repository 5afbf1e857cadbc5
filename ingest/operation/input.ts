import type { OperationInput } from "../../packages/contracts/operation.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";

const types: ReadonlySet<unknown> = new Set<OperationInput["work"]["type"]>([
	"DryRun",
	"Draft",
	"Inspect",
	"Import",
]);

/** Parses a Job's `input.json` as an {@link OperationInput}. Throws {@link JobFailure} InputInvalid. */
export function parseOperationInput(text: string): OperationInput {
	let input: Partial<OperationInput> | null;
	try {
		input = JSON.parse(text);
	} catch {
		throw new JobFailure("InputInvalid", "The Job's input is not JSON");
	}
	if (input?.version !== 1)
		throw new JobFailure(
			"InputInvalid",
			`The Job's input has version ${input?.version}, but this image reads version 1`,
		);
	const { operation, work, manifestURL } = input;
	const invalid = (field: string) =>
		new JobFailure("InputInvalid", `The Job's input has no valid ${field}`);
	if (typeof operation?.uid !== "string") throw invalid("operation.uid");
	if (typeof manifestURL !== "string" || !URL.canParse(manifestURL))
		throw invalid("manifestURL");
	if (!types.has(work?.type))
		throw new JobFailure(
			"InputInvalid",
			`The Job's input names work of type ${(work as { type?: unknown } | undefined)?.type}, but this image knows only ${[...types].join(", ")}`,
		);
	return input as OperationInput;
}
