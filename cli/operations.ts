import { Option } from "@commander-js/extra-typings";
import { type Operation, operationKind } from "../crds/generated/types.ts";
import {
	type Cluster,
	chooseCluster,
	requireObject,
} from "./command/cluster.ts";
import { examples, type Group } from "./command/group.ts";
import { createObject, dryRunOption } from "./resource/creation.ts";
import { defineVerbs } from "./resource/verbs.ts";

/** `tidemill operations`. */
export function define(operations: Group): void {
	defineVerbs(operations, operationKind, { newestFirst: true });
	operations
		.command("create")
		.description(
			"Create an operation from its manifest. Other commands create one and wait for its result: tracking-plans dry-run, tracking-plans draft and quarantine release.",
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
	operations
		.command("cancel")
		.description("Stop an operation.")
		.argument("<operation>")
		.addHelpText("after", examples("tidemill operations cancel shop-dr1a2b"))
		.action(async (name, _, command) =>
			cancel(await chooseCluster(command.optsWithGlobals()), name),
		);
}

async function cancel(cluster: Cluster, name: string): Promise<void> {
	const { client, namespace } = cluster;
	const { metadata } = await requireObject(cluster, operationKind, name);
	await client.patch(
		operationKind,
		name,
		namespace,
		{ metadata: { uid: metadata.uid }, spec: { cancel: true } },
		"merge",
		{ fieldManager: "tidemill" },
	);
}
