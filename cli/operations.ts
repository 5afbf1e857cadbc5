import { Option } from "@commander-js/extra-typings";
import { type Operation, operationKind } from "../crds/generated/types.ts";
import { hasEnded } from "../crds/operation.ts";
import { chooseCluster, requireObject } from "./command/cluster.ts";
import { CommandError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { changeSpec } from "./resource/change.ts";
import { createObject, dryRunOption } from "./resource/creation.ts";
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
		.addOption(
			new Option(
				"-f, --file <manifest>",
				"a manifest in YAML or JSON; - is standard input",
			).makeOptionMandatory(),
		)
		.addOption(dryRunOption)
		.addHelpText(
			"after",
			examples("tidemill operations create -f release.yaml"),
		)
		.action(async (options, command) => {
			await createObject<Operation>(command.optsWithGlobals(), operationKind, {
				name: undefined,
				spec: undefined,
				...options,
			});
		});
	defineLogs(operations, "Operation", "shop-dr1a2b");
	operations
		.command("cancel")
		.description("Stop an operation.")
		.argument("<operation>")
		.addHelpText("after", examples("tidemill operations cancel shop-dr1a2b"))
		.action(async (name, _, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const found = await requireObject<Operation>(
				cluster,
				operationKind,
				name,
			);
			if (hasEnded(found))
				throw new CommandError(
					`the operation "${name}" has already ended: ${found.status?.phase}.`,
				);
			await changeSpec(
				cluster,
				operationKind,
				name,
				{ cancel: true },
				"cancelled",
			);
		});
}
