import { Option } from "@commander-js/extra-typings";
import {
	type OperationInspect,
	type OperationSpec,
	type Source,
	sourceKind,
} from "../crds/generated/types.ts";
import {
	type Cluster,
	chooseCluster,
	requireObject,
} from "./command/cluster.ts";
import { datesOf, daysOption, fromOption, toOption } from "./command/dates.ts";
import { type CommandGroup, countOf, examples } from "./command/group.ts";
import {
	dataOption,
	dataText,
	print,
	remark,
	table,
} from "./command/output.ts";
import { performOperation } from "./resource/follower.ts";

const typeOption = new Option(
	"--type <type>",
	"only events of this type",
).argParser(collect);
const kindOption = new Option(
	"--kind <kind>",
	"only events that deviate so, such as TypeMismatch",
).argParser(collect);
const eventOption = new Option("--event-id <id>", "only this event").argParser(
	collect,
);

/** `tidemill quarantine`. */
export function define(quarantine: CommandGroup): void {
	quarantine
		.command("list")
		.description("List how the source's events deviate from the tracking plan.")
		.argument("<source>")
		.addOption(dataOption)
		.addHelpText(...examples("tidemill quarantine list shop"))
		.action(async (name, { output }, command) =>
			list(await chooseCluster(command.optsWithGlobals()), name, output),
		);
	quarantine
		.command("inspect")
		.description(
			"List the events in quarantine, the newest first, and what is wrong with each. It shows no bodies. --type, --kind and --event-id can be repeated.",
		)
		.argument("<source>")
		.addOption(typeOption)
		.addOption(kindOption)
		.addOption(eventOption)
		.option("--limit <n>", "how many events, at most 100; without it 20")
		.option("--before <id>", "only events before this one, for the next page")
		.addOption(daysOption)
		.addOption(fromOption)
		.addOption(toOption)
		.addOption(dataOption)
		.addHelpText(
			...examples("tidemill quarantine inspect shop --type order.paid"),
		)
		.action(async (name, { limit, before, output, ...chosen }, command) => {
			const count = countOf("--limit", limit, 100);
			const about = { ...filterOf(chosen), ...datesOf(chosen) };
			const cluster = await chooseCluster(command.optsWithGlobals());
			const { status } = await performOperation(cluster, {
				type: "Inspect",
				sourceRef: { name },
				...about,
				...(count !== undefined && { limit: count }),
				...(before !== undefined && { before }),
			});
			print(
				output === "table"
					? eventsText(status!.inspect!)
					: await dataText(status!.inspect, output),
			);
			remark(`${status!.summary}\n`);
		});
	quarantine
		.command("release")
		.description(
			"Release events from quarantine. The next runs load them on their dates. Without --type, --kind and --event-id, all events are released. Each of them can be repeated.",
		)
		.argument("<source>")
		.addOption(typeOption)
		.addOption(kindOption)
		.addOption(eventOption)
		.addOption(daysOption)
		.addOption(fromOption)
		.addOption(toOption)
		.addHelpText(
			...examples(
				"tidemill quarantine release shop --type order.paid --kind TypeMismatch",
			),
		)
		.action(async (name, chosen, command) => {
			const about = { ...filterOf(chosen), ...datesOf(chosen) };
			const cluster = await chooseCluster(command.optsWithGlobals());
			const { status } = await performOperation(cluster, {
				type: "Release",
				sourceRef: { name },
				...about,
			});
			print(`${status!.summary}\n`);
		});
}

function collect(value: string, previous: string[] = []): string[] {
	return [...previous, value];
}

function filterOf({
	type: types,
	kind: kinds,
	eventId: eventIDs,
}: {
	type?: string[] | undefined;
	kind?: string[] | undefined;
	eventId?: string[] | undefined;
}): Pick<OperationSpec, "filter"> {
	const filter = {
		...(types && { types }),
		...(kinds && { kinds }),
		...(eventIDs && { eventIDs }),
	};
	return Object.keys(filter).length > 0 ? { filter } : {};
}

async function list(
	cluster: Cluster,
	name: string,
	output: "table" | "json" | "yaml",
): Promise<void> {
	const { status } = await requireObject<Source>(cluster, sourceKind, name);
	const { deviations = [], otherDeviations } = status ?? {};
	if (output !== "table") {
		const found = { deviations, ...(otherDeviations && { otherDeviations }) };
		print(await dataText(found, output));
		return;
	}
	if (deviations.length === 0) {
		remark(`No event of source "${name}" deviates from a tracking plan.\n`);
		return;
	}
	const rows = [
		...deviations,
		...(otherDeviations ? [{ kind: "(others)", ...otherDeviations }] : []),
	].map(({ type = "", kind, quarantined, annotated }) => [
		type,
		kind,
		String(quarantined),
		String(annotated),
	]);
	print(table([["TYPE", "KIND", "QUARANTINED", "ANNOTATED"], ...rows]));
}

/** A line for each violation; an event's ID, time and type stand in its first. */
function eventsText({ page, hasMore }: OperationInspect): string {
	if (page.length === 0) return "";
	const rows = page.flatMap(
		({ eventID, timestamp, type = "", violations = [], otherViolations }) =>
			[
				...violations.map(({ kind, path, message = "" }) => [
					kind,
					path,
					message,
				]),
				...(otherViolations ? [[`(${otherViolations} more)`, "", ""]] : []),
			].map((violation, index) => [
				...(index === 0 ? [eventID, timestamp, type] : ["", "", ""]),
				...violation,
			]),
	);
	const next = hasMore
		? `The next page: --before ${page.at(-1)!.eventID}\n`
		: "";
	return `${table([["EVENT ID", "TIME", "TYPE", "KIND", "PATH", "PROBLEM"], ...rows])}${next}`;
}
