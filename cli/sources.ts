import { Option } from "@commander-js/extra-typings";
import { type Source, sourceKind } from "../crds/generated/types.ts";
import { annotation } from "../crds/labels.ts";
import { chooseCluster } from "./command/cluster.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { defineRefusals } from "./events/refusals.ts";
import { defineSend } from "./events/sending.ts";
import { askOperator, defineSuspension } from "./resource/change.ts";
import {
	createdOption,
	createObject,
	displayNameOption,
	dryRunOption,
	fileOption,
	readyOption,
} from "./resource/creation.ts";
import { defineVerbs } from "./resource/verbs.ts";

/** `tidemill sources`. */
export function define(sources: CommandGroup): void {
	defineVerbs(sources, sourceKind, {
		about:
			" A webhook URL is a secret: whoever knows it can send events to a source without authorization.",
	});
	sources
		.command("create")
		.description(
			"Create a source. Its URL alone is enough to send events; a manifest can ask for more. With --wait, it prints the URL.",
		)
		.argument("[name]")
		.addOption(displayNameOption)
		.option("--tracking-plan <name>", "the plan of its events")
		.addOption(
			new Option(
				"--deletion-policy <policy>",
				"what happens to the URL and the stored events when it is deleted",
			).choices(["Retain", "Delete"] as const),
		)
		.addOption(fileOption)
		.addOption(dryRunOption)
		.addOption(readyOption)
		.addOption(createdOption)
		.addHelpText(
			...examples(
				"tidemill sources create shop --wait",
				"tidemill sources create -f source.yaml",
			),
		)
		.action(
			async (
				name,
				{ displayName, trackingPlan, deletionPolicy, ...options },
				command,
			) => {
				const settings = {
					...(displayName && { displayName }),
					...(deletionPolicy && { deletionPolicy }),
					...(trackingPlan && {
						webhook: { trackingPlanRef: { name: trackingPlan } },
					}),
				};
				const { status } = await createObject<Source>(
					command.optsWithGlobals(),
					sourceKind,
					{
						name,
						spec:
							options.file === undefined || Object.keys(settings).length > 0
								? { type: "Webhook", ...settings }
								: undefined,
						...options,
					},
				);
				if (options.wait && !options.output && status?.webhookURL)
					process.stdout.write(`${status.webhookURL}\n`);
			},
		);
	defineSuspension(sources, sourceKind, {
		example: "shop",
		suspend: "Refuse events with 403 until the source is resumed.",
		resume: "Accept events again.",
	});
	sources
		.command("rotate-url")
		.description(
			"Replace the webhook URL and print the new one. The old one answers 404 from then on.",
		)
		.argument("<source>")
		.addHelpText(...examples("tidemill sources rotate-url shop"))
		.action(async (name, _, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const { status } = await askOperator<Source>(
				cluster,
				sourceKind,
				name,
				annotation.rotateURL,
				(before, { status }) =>
					status?.webhookURL !== undefined &&
					status.webhookURL !== before.status?.webhookURL,
			);
			process.stdout.write(`${status!.webhookURL}\n`);
		});
	defineSend(sources);
	defineRefusals(sources);
}
