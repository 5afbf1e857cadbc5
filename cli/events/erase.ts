import { Option } from "@commander-js/extra-typings";
import { chooseCluster } from "../command/cluster.ts";
import { UsageError } from "../command/errors.ts";
import { type CommandGroup, examples } from "../command/group.ts";
import { print, remark } from "../command/output.ts";
import { performOperation } from "../resource/follower.ts";

/** `tidemill events erase`. */
export function defineErase(events: CommandGroup): void {
	events
		.command("erase")
		.description(
			"Erase events for good: in the bucket, in what is on its way there, and in the tables. It waits until each table is done. Set --event-id, or --body-pointer and --equals. It needs the right to erase sources/bodies, which the role tidemill-eraser has.",
		)
		.argument("<source>")
		.addOption(
			new Option(
				"--event-id <id>",
				"erase this event; can be repeated",
			).argParser((id: string, before: string[] = []) => [...before, id]),
		)
		.option(
			"--body-pointer <pointer>",
			"where in the body, as a JSON Pointer such as /customer/email",
		)
		.option("--equals <text>", "erase the events that have this string there")
		.option(
			"--blank-body",
			"keep the rows, without bodies and what came from them",
		)
		.requiredOption(
			"--confirm <source>",
			"the source's name once more, since nothing brings the events back",
		)
		.addHelpText(
			...examples(
				"tidemill events erase shop --body-pointer /customer/email --equals ada@example.com --confirm shop",
			),
		)
		.action(
			async (
				name,
				{ eventId, bodyPointer, equals, blankBody, confirm },
				command,
			) => {
				if (confirm !== name)
					throw new UsageError(
						`--confirm is "${confirm}", but must be the name of the source, "${name}"`,
					);
				const hasMatch = bodyPointer !== undefined && equals !== undefined;
				const hasPart = bodyPointer !== undefined || equals !== undefined;
				if (hasPart !== hasMatch || hasMatch === (eventId !== undefined))
					throw new UsageError(
						"Set either --event-id, or both --body-pointer and --equals",
					);
				const cluster = await chooseCluster(command.optsWithGlobals());
				const { status } = await performOperation(cluster, {
					type: "Erase",
					sourceRef: { name },
					...(eventId && { filter: { eventIDs: eventId } }),
					erase: {
						mode: blankBody ? "BlankBody" : "RemoveRow",
						confirm,
						...(hasMatch && { match: { bodyPointer, equals } }),
					},
				});
				const { places, unreached } = status!.erase!;
				print(`${status!.summary}\n`);
				for (const { place, count } of places)
					if (count > 0) print(`${place}: ${count}\n`);
				remark(
					`Tidemill can't erase what is in\n${unreached.map((each) => `- ${each}\n`).join("")}`,
				);
			},
		);
}
