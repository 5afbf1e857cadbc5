import { randomBytes } from "node:crypto";
import type { Operation, OperationSpec } from "./generated/types.ts";

/** Whether an Operation has ended. The operator writes `completionTime` together with the final phase. */
export function hasEnded({ status }: Operation): boolean {
	return status?.completionTime !== undefined;
}

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
