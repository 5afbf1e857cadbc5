import { randomBytes } from "node:crypto";
import type { OperationSpec } from "./generated/types.ts";

/** An Operation as people and programs create it: without what has a default. */
export type NewOperationSpec = Omit<
	OperationSpec,
	"plan" | "ttlSecondsAfterFinished" | "jobTemplate"
> & { plan?: object; ttlSecondsAfterFinished?: number };

/** The name of an Operation that a program creates. */
export function operationName(
	source: string,
	type: OperationSpec["type"],
	suffix: string = randomBytes(4).toString("hex"),
): string {
	const short = {
		DryRun: "dr",
		Draft: "d",
		Inspect: "i",
		Release: "r",
		Export: "e",
		Import: "im",
	}[type];
	return `${source}-${short}${suffix}`;
}
