import { type Operation, operationKind } from "../crds/generated/types.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { defineCancel } from "./resource/change.ts";
import {
	createdOption,
	createObject,
	dryRunOption,
	manifestOption,
} from "./resource/creation.ts";
import { defineLogs } from "./resource/job-log.ts";
import { defineVerbs } from "./resource/verbs.ts";

/** `tidemill operations`. */
export function define(operations: CommandGroup): void {
	defineVerbs(operations, operationKind, { newestFirst: true });
	operations
		.command("create")
		.description(
			"Create an operation from its manifest. Other commands create one and wait for its result: tracking-plans dry-run, tracking-plans draft, quarantine inspect and quarantine release.",
		)
		.addOption(manifestOption)
		.addOption(dryRunOption)
		.addOption(createdOption)
		.addHelpText(...examples("tidemill operations create -f release.yaml"))
		.action(async (options, command) => {
			await createObject<Operation>(command.optsWithGlobals(), operationKind, {
				name: undefined,
				spec: undefined,
				...options,
			});
		});
	defineLogs(operations, "Operation", "shop-dr1a2b");
	defineCancel(operations, operationKind, {
		description: "Stop an operation.",
		example: "shop-dr1a2b",
	});
}
