import { isDeepStrictEqual } from "node:util";
import { Option } from "@commander-js/extra-typings";
import {
	type Operation,
	type OperationSpec,
	operationKind,
} from "../../crds/generated/types.ts";
import { type Cluster, chooseCluster } from "../command/cluster.ts";
import { UsageError } from "../command/errors.ts";
import { type CommandGroup, examples } from "../command/group.ts";
import { print, remark } from "../command/output.ts";
import { performOperation } from "../resource/follower.ts";

/** Nothing was found. */
const nothingExitCode = 4;

/** `tidemill events erase`. */
export function defineErase(events: CommandGroup): void {
	events
		.command("erase")
		.description(
			`Erase events for good: in the bucket, in what is on its way there, and in the tables. It waits until each table is done. The exit code is ${nothingExitCode} if there was nothing to erase and no earlier Erase has asked for the same. Set --event-id, or --body-pointer and one of --equals and --equals-number. With --dry-run it counts what it would erase, and changes nothing. It needs the right to erase sources/bodies, which the role tidemill-eraser has.`,
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
		.option(
			"--equals <text>",
			"erase the events that have this string there, or a list with it",
		)
		.option(
			"--equals-number <number>",
			"the same of a number: 1, 1.0 and 1e0 are one",
		)
		.option(
			"--blank-body",
			"keep the rows, without bodies and what came from them",
		)
		.option(
			"--confirm <source>",
			"the source's name once more, since nothing brings the events back; not needed with --dry-run",
		)
		.option(
			"--dry-run",
			"count what would be erased, in the bucket and by table, and erase nothing",
		)
		.addHelpText(
			...examples(
				"tidemill events erase shop --body-pointer /customer/email --equals ada@example.com --dry-run",
				"tidemill events erase shop --body-pointer /customer/email --equals ada@example.com --confirm shop",
				"tidemill events erase shop --body-pointer /customer/id --equals-number 7016 --confirm shop",
			),
		)
		.action(
			async (
				name,
				{ eventId, bodyPointer, equals, equalsNumber, blankBody, ...options },
				command,
			) => {
				const { dryRun, confirm = dryRun && name } = options;
				if (confirm !== name)
					throw new UsageError(
						`--confirm is "${confirm ?? ""}", but must be the name of the source, "${name}"`,
					);
				const values = {
					...(equals !== undefined && { equals }),
					...(equalsNumber !== undefined && { equalsNumber }),
				};
				const hasMatch = bodyPointer !== undefined;
				if (
					Object.keys(values).length !== Number(hasMatch) ||
					hasMatch === (eventId !== undefined)
				)
					throw new UsageError(
						"Set either --event-id, or --body-pointer and one of --equals and --equals-number",
					);
				const cluster = await chooseCluster(command.optsWithGlobals());
				const { metadata, spec, status } = await performOperation(cluster, {
					type: "Erase",
					sourceRef: { name },
					...(eventId && { filter: { eventIDs: eventId } }),
					erase: {
						mode: blankBody ? "BlankBody" : "RemoveRow",
						confirm,
						...(dryRun && { dryRun }),
						...(hasMatch && { match: { bodyPointer, ...values } }),
					},
				});
				const { places, tables, unreached } = status!.erase!;
				print(`${status!.summary}\n`);
				for (const { place, count } of places)
					if (count > 0) print(`${place}: ${count}\n`);
				for (const { pipeline, message } of dryRun ? tables : [])
					print(`Pipeline ${pipeline}: ${message ?? ""}\n`);
				if (status!.erase!.isNothing) {
					const before = await repeatedBy(cluster, metadata, spec);
					if (before)
						remark(
							`${before} has erased the same before, so there is nothing left.\n`,
						);
					else process.exitCode = nothingExitCode;
				}
				remark(
					`Tidemill can't erase what is in\n${unreached.map((each) => `- ${each}\n`).join("")}`,
				);
			},
		);
}

/** The name of an earlier Erase that asked for the same and has ended well; undefined if there is none, or who asks may not see them. */
async function repeatedBy(
	{ client, namespace }: Cluster,
	{ uid }: Operation["metadata"],
	{ sourceRef, filter, erase }: OperationSpec,
): Promise<string | undefined> {
	const asked = ({ filter, erase }: OperationSpec) => [
		...(filter?.eventIDs?.toSorted() ?? []),
		erase?.match,
	];
	const { items } = await client
		.list<Operation>(operationKind, { namespace })
		.catch(() => ({ items: [] }));
	return items.find(
		({ metadata, spec, status }) =>
			metadata.uid !== uid &&
			status?.phase === "Succeeded" &&
			spec.sourceRef.name === sourceRef.name &&
			!spec.erase?.dryRun &&
			isDeepStrictEqual(asked(spec), asked({ filter, erase } as OperationSpec)),
	)?.metadata.name;
}
