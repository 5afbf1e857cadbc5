import { Option } from "@commander-js/extra-typings";
import { type Source, sourceKind } from "../crds/generated/types.ts";
import { annotation } from "../crds/labels.ts";
import { providers } from "../packages/contracts/providers.ts";
import { chooseCluster, requireObject } from "./command/cluster.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { print, remark } from "./command/output.ts";
import { defineRefusals } from "./events/refusals.ts";
import { defineSend } from "./events/sending.ts";
import {
	readSecret,
	requireSecret,
	requireSigningSecret,
	secretFileOption,
	secretStdinOption,
	writeSecret,
} from "./provider/secret.ts";
import { prepareSender, secretRefOf } from "./provider/sender.ts";
import { askOperator, defineSuspension } from "./resource/change.ts";
import { createObject, defineCreate } from "./resource/creation.ts";
import { defineVerbs } from "./resource/verbs.ts";

/** `tidemill sources`. */
export function define(sources: CommandGroup): void {
	defineVerbs(sources, sourceKind, {
		about:
			" A webhook URL is a secret: whoever knows it can send events to a source without authorization.",
	});
	defineCreate(
		sources,
		"Create a source, and print its URL with --wait. --provider says who sends: the source then checks that provider's signatures, stores a repeated event once and knows the events' types, and the command creates the Secret that it needs. Without it, the URL alone is enough to send events.",
	)
		.addOption(
			new Option(
				"--provider <name>",
				`who sends: ${Object.keys(providers).join(", ")}, or one of examples/senders`,
			),
		)
		.addOption(secretStdinOption)
		.addOption(secretFileOption)
		.addOption(
			new Option(
				"--secret-ref <name>",
				"a Secret that is there, with the secret in its key secret",
			).conflicts(["secretStdin", "secretFile"]),
		)
		.option(
			"--topic-arn <arn>",
			"a topic of the provider sns; it can be repeated",
			(arn: string, others: string[] = []) => [...others, arn],
		)
		.option("--tracking-plan <name>", "the plan of its events")
		.addHelpText(
			...examples(
				"tidemill sources create shop --wait",
				"tidemill sources create stripe --provider stripe --secret-stdin --wait < secret",
				"tidemill sources create github --provider github --dry-run -o yaml",
				"tidemill sources create -f source.yaml",
			),
		)
		.action(async (name, { trackingPlan, ...options }, command) => {
			const { set, file, dryRun, wait, output, ...choice } = options;
			const sender = await prepareSender(command.optsWithGlobals(), {
				...choice,
				...{ name, file, dryRun, trackingPlan },
			});
			const webhook = {
				...sender?.webhook,
				...(trackingPlan && { trackingPlanRef: { name: trackingPlan } }),
			};
			const hasWebhook = Object.keys(webhook).length > 0;
			const { status } = await createObject<Source>(
				command.optsWithGlobals(),
				sourceKind,
				{
					...{ name, set, file, dryRun, wait, output },
					spec: {
						...(file === undefined && { type: "Webhook" }),
						...(hasWebhook && { webhook }),
					},
					...(sender && { before: sender.before }),
					...(sender?.lacksSecret && {
						isEnough: (seen) =>
							(seen as Source).status?.webhookURL !== undefined,
					}),
				},
			);
			if (wait && !output && status?.webhookURL)
				print(`${status.webhookURL}\n`);
			if (sender && !output) remark(sender.farewell);
		});
	sources
		.command("set-secret")
		.description(
			"Write the secret of a source with authorization into the Secret that the source names first, which is created with the label for Tidemill. In a Secret that has the label, it is replaced; any other is left as it is.",
		)
		.argument("<source>")
		.addOption(secretStdinOption)
		.addOption(secretFileOption)
		.addHelpText(
			...examples("tidemill sources set-secret stripe --secret-stdin < secret"),
		)
		.action(async (name, options, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const source = await requireObject<Source>(cluster, sourceKind, name);
			const ref = secretRefOf(source);
			const question = `The secret of source ${name}: `;
			const secret = requireSecret(await readSecret(options, question));
			requireSigningSecret(source.spec.webhook, secret);
			await writeSecret(cluster, ref, secret, { replace: true });
			print(`secret/${ref.name} written\n`);
		});
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
			print(`${status!.webhookURL}\n`);
		});
	defineSend(sources);
	defineRefusals(sources);
}
