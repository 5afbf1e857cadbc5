import { type Source, sourceKind } from "../crds/generated/types.ts";
import { chooseCluster } from "./cluster.ts";
import { command } from "./command.ts";
import { readArguments, UsageError } from "./command-line.ts";
import { table } from "./table.ts";

/** `tidemill sources`. */
export const main = command("sources", {
	list: {
		usage: "[--output json]",
		about: [
			"Lists the sources with their event counts and webhook URLs.",
			"A webhook URL is a secret: whoever knows it can send events.",
		],
		run: list,
	},
});

async function list(args: string[]): Promise<number> {
	const { values } = readArguments(args, [], {
		output: { type: "string", short: "o" },
	});
	const { output } = values;
	if (output !== undefined && output !== "json")
		throw new UsageError(`--output is "${output}", but only json is supported`);
	const { client, namespace } = await chooseCluster(values);
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
	return 0;
}
