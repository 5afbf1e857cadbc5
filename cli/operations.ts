import { operationKind } from "../crds/generated/types.ts";
import type { CommandGroup } from "./command/group.ts";
import { defineCancel } from "./resource/change.ts";
import { definePlainCreate } from "./resource/creation.ts";
import { defineLogs } from "./resource/job-log.ts";
import { defineVerbs } from "./resource/verbs.ts";

/** `tidemill operations`. */
export function define(operations: CommandGroup): void {
	defineVerbs(operations, operationKind, { newestFirst: true });
	definePlainCreate(operations, operationKind, {
		description:
			"Create an operation. Other commands create one and wait for its result: tracking-plans dry-run, tracking-plans draft, quarantine inspect and quarantine release.",
		example: "for-shop --set type=Release --set sourceRef.name=shop",
	});
	defineLogs(operations, "Operation", "shop-dr1a2b");
	defineCancel(operations, operationKind, {
		description: "Stop an operation.",
		example: "shop-dr1a2b",
	});
}
