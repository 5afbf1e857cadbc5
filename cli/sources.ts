import { Option } from "@commander-js/extra-typings";
import { type Source, sourceKind } from "../crds/generated/types.ts";
import { type Cluster, chooseCluster } from "./command/cluster.ts";
import { examples, type Group } from "./command/group.ts";
import { table } from "./output/table.ts";

/** `tidemill sources`. */
export function define(sources: Group): void {
	sources
		.command("list")
		.description(
			"List the sources with their event counts and webhook URLs. A webhook URL is a secret: whoever knows it can send events.",
		)
		.addOption(
			new Option("-o, --output <format>", "the format of the list")
				.choices(["table", "json"] as const)
				.default("table" as const),
		)
		.addHelpText("after", examples("tidemill sources list -n shop"))
		.action(async ({ output }, command) =>
			list(await chooseCluster(command.optsWithGlobals()), output),
		);
}

async function list(
	{ client, namespace }: Cluster,
	output: "table" | "json",
): Promise<void> {
	const { items } = await client.list<Source>(sourceKind, { namespace });
	if (output === "json")
		process.stdout.write(`${JSON.stringify(items, undefined, 2)}\n`);
	else if (items.length === 0)
		process.stderr.write(`There are no sources in namespace ${namespace}.\n`);
	else
		process.stdout.write(
			table([
				["NAME", "PHASE", "EVENTS", "LAST EVENT", "WEBHOOK URL"],
				...items.map(({ metadata, status = {} }) => [
					metadata.name,
					status.phase ?? "",
					String(status.counts?.archived ?? 0),
					status.lastEventTime ?? "",
					status.webhookURL ?? "",
				]),
			]),
		);
}
