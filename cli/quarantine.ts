import { type Source, sourceKind } from "../crds/generated/types.ts";
import {
	type Cluster,
	chooseCluster,
	requireObject,
} from "./command/cluster.ts";
import { datesOf, daysOption, fromOption, toOption } from "./command/dates.ts";
import { examples, type Group } from "./command/group.ts";
import { performOperation } from "./follow/operation-follower.ts";
import { table } from "./output/table.ts";

/** `tidemill quarantine`. */
export function define(quarantine: Group): void {
	quarantine
		.command("list")
		.description("List how the source's events deviate from the tracking plan.")
		.argument("<source>")
		.addHelpText("after", examples("tidemill quarantine list shop"))
		.action(async (name, _, command) =>
			list(await chooseCluster(command.optsWithGlobals()), name),
		);
	quarantine
		.command("release")
		.description(
			"Make events in quarantine rows of their dates. The next runs load them. Without --type, --kind and --event-id, all events are released. Each of them can be repeated.",
		)
		.argument("<source>")
		.option("--type <type>", "only events of this type", collect)
		.option(
			"--kind <kind>",
			"only events that deviate so, such as TypeMismatch",
			collect,
		)
		.option("--event-id <id>", "only this event", collect)
		.addOption(daysOption)
		.addOption(fromOption)
		.addOption(toOption)
		.addHelpText(
			"after",
			examples(
				"tidemill quarantine release shop --type order.paid --kind TypeMismatch",
			),
		)
		.action(
			async (name, { type: types, kind: kinds, eventId, ...days }, command) => {
				const filter = {
					...(types && { types }),
					...(kinds && { kinds }),
					...(eventId && { eventIDs: eventId }),
				};
				const dates = datesOf(days);
				const cluster = await chooseCluster(command.optsWithGlobals());
				const { status } = await performOperation(cluster, {
					type: "Release",
					sourceRef: { name },
					...(Object.keys(filter).length > 0 && { filter }),
					...dates,
				});
				process.stdout.write(`${status!.summary}\n`);
			},
		);
}

function collect(value: string, previous: string[] = []): string[] {
	return [...previous, value];
}

async function list(cluster: Cluster, name: string): Promise<void> {
	const { status } = await requireObject<Source>(cluster, sourceKind, name);
	const { deviations = [] } = status ?? {};
	if (deviations.length === 0) {
		process.stderr.write(
			`No event of source "${name}" deviates from a tracking plan.\n`,
		);
		return;
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
}
