import { type Source, sourceKind } from "../crds/generated/types.ts";
import { chooseCluster } from "./cluster.ts";
import { CommandError, command } from "./command.ts";
import {
	datesOf,
	dayOptions,
	daysUsage,
	readArguments,
} from "./command-line.ts";
import { performOperation } from "./operation-follower.ts";
import { table } from "./table.ts";

/** `tidemill quarantine`. */
export const main = command("quarantine", {
	list: {
		usage: "<source>",
		about: ["Lists how the source's events deviate from the tracking plan."],
		run: list,
	},
	release: {
		usage: `<source> [--type <type>]… [--kind <kind>]… [--event-id <id>]… ${daysUsage}`,
		about: [
			"Makes events in quarantine rows of their dates. The next runs load them.",
			"--type, --kind (such as TypeMismatch) and --event-id choose events; each can be repeated. Without any, all are released.",
		],
		run: release,
	},
});

async function list(args: string[]): Promise<number> {
	const { values, positionals } = readArguments(args, ["<source>"], {});
	const { client, namespace } = await chooseCluster(values);
	const name = positionals[0]!;
	const source = await client.get<Source>(sourceKind, name, namespace);
	if (!source)
		throw new CommandError(
			`there is no source "${name}" in namespace ${namespace}. List them with: tidemill sources list -n ${namespace}`,
		);
	const { deviations = [] } = source.status ?? {};
	if (deviations.length === 0) {
		process.stderr.write(
			`No event of source "${name}" deviates from a tracking plan.\n`,
		);
		return 0;
	}
	const rows = deviations.map(({ type = "", kind, quarantined, annotated }) => [
		type,
		kind ?? "(others)",
		String(quarantined),
		String(annotated),
	]);
	process.stdout.write(
		table([["TYPE", "KIND", "QUARANTINED", "ANNOTATED"], ...rows]),
	);
	return 0;
}

async function release(args: string[]): Promise<number> {
	const { values, positionals } = readArguments(args, ["<source>"], {
		...dayOptions,
		type: { type: "string", multiple: true },
		kind: { type: "string", multiple: true },
		"event-id": { type: "string", multiple: true },
	});
	const { type: types, kind: kinds, "event-id": eventIDs } = values;
	const filter = {
		...(types && { types }),
		...(kinds && { kinds }),
		...(eventIDs && { eventIDs }),
	};
	const { status } = await performOperation(await chooseCluster(values), {
		type: "Release",
		sourceRef: { name: positionals[0]! },
		...(Object.keys(filter).length > 0 && { filter }),
		...datesOf(values),
	});
	process.stdout.write(`${status!.summary}\n`);
	return 0;
}
