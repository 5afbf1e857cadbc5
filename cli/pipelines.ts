import { Option } from "@commander-js/extra-typings";
import {
	type Pipeline,
	type PipelineSchedule,
	pipelineKind,
} from "../crds/generated/types.ts";
import { UsageError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { defineSuspension } from "./resource/change.ts";
import {
	createdOption,
	createObject,
	displayNameOption,
	dryRunOption,
	fileOption,
	readyOption,
} from "./resource/creation.ts";
import { defineVerbs } from "./resource/verbs.ts";
import { defineFullReload, defineReload, defineStart } from "./runs.ts";

/** `tidemill pipelines`. */
export function define(pipelines: CommandGroup): void {
	defineVerbs(pipelines, pipelineKind);
	pipelines
		.command("create")
		.description(
			"Create a pipeline. Without --daily, --every and --cron, it runs only when somebody starts it.",
		)
		.argument("[name]")
		.addOption(displayNameOption)
		.option("--source <name>", "the source of the events")
		.option("--destination <name>", "the destination of the table")
		.option("--table <name>", "the name of the table")
		.option(
			"--columns <names>",
			"the table's columns, separated by commas, of EventID, Timestamp, Body, Date, Violations, LoadedAt and Run",
		)
		.option(
			"--body-column <column>",
			"a column with a value of the body, as name=/pointer or name=/pointer:Type, such as amount=/data/amount:Integer; it can be repeated. Without a type, it has that of the source's tracking plan, or String",
			(column: string, others: string[] = []) => [...others, column],
		)
		.option(
			"--event-type <type>",
			"load only the events of this type; it can be repeated. Without --type-pointer and --type-header, the source's tracking plan knows the types",
			(type: string, others: string[] = []) => [...others, type],
		)
		.addOption(
			new Option(
				"--type-pointer <pointer>",
				"where the body has the type of --event-type, such as /type",
			).conflicts("typeHeader"),
		)
		.option(
			"--type-header <name>",
			"the captured header that has the type of --event-type, such as x-github-event",
		)
		.option(
			"--match <condition>",
			"load only the events whose bodies have this value, as /pointer=value, such as /order/status=paid",
		)
		.option("--evolve", "give each member of the bodies a column")
		.option("--per-event-type", "load each event type into a table of its own")
		.option(
			"--quarantine",
			"also load the events in quarantine, into a table of their own",
		)
		.option(
			"--rejected-values",
			"also write down each value that a column couldn't hold, in a table of their own",
		)
		.option(
			"--latest-by <columns>",
			"make a view <table>_latest with the latest row for each value of these columns, such as order_id",
		)
		.addOption(
			new Option(
				"--daily <time>",
				"run each day at this time, such as 06:30",
			).conflicts(["every", "cron"]),
		)
		.addOption(
			new Option(
				"--every <interval>",
				"run at this interval, such as 15m",
			).conflicts("cron"),
		)
		.option("--cron <expression>", "run by a cron expression of five fields")
		.option(
			"--time-zone <zone>",
			"of --daily and --cron, such as Europe/Berlin",
		)
		.addOption(fileOption)
		.addOption(dryRunOption)
		.addOption(readyOption)
		.addOption(createdOption)
		.addHelpText(
			...examples(
				"tidemill pipelines create charges --source stripe --destination lake --every 15m --body-column amount=/data/object/amount:Integer",
				"tidemill pipelines create orders --source shop --destination lake --daily 06:30 --time-zone Europe/Berlin",
				"tidemill pipelines create refunds --source stripe --destination lake --event-type charge.refunded --every 1h",
				"tidemill pipelines create github --source github --destination lake --per-event-type --type-header x-github-event --every 1h",
				"tidemill pipelines create -f pipeline.yaml",
			),
		)
		.action(async (name, options, command) => {
			const { file, dryRun, wait, output, ...settings } = options;
			const spec = specOf(settings);
			if (file === undefined && (!settings.source || !settings.destination))
				throw new UsageError("pass --source and --destination, or --file");
			await checkSchedule(settings);
			await createObject<Pipeline>(command.optsWithGlobals(), pipelineKind, {
				name,
				spec,
				file,
				dryRun,
				wait,
				output,
			});
		});
	defineStart(pipelines, "run");
	defineReload(pipelines);
	defineFullReload(pipelines);
	defineSuspension(pipelines, pipelineKind, {
		example: "orders",
		suspend:
			"Stop the schedule until the pipeline is resumed. You can still start runs.",
		resume: "Follow the schedule again.",
	});
}

export interface ScheduleOptions {
	daily?: string | undefined;
	every?: string | undefined;
	cron?: string | undefined;
	timeZone?: string | undefined;
}

/** Throws {@link UsageError}, which names the option, where the cluster would name a field. */
export async function checkSchedule(options: ScheduleOptions): Promise<void> {
	const { daily, every, cron, timeZone } = options;
	if (daily !== undefined && !/^([01]?\d|2[0-3]):[0-5]\d$/.test(daily))
		throw new UsageError(
			`--daily is "${daily}", but must be a time of day such as 06:30`,
		);
	if (every !== undefined && !isInterval(every))
		throw new UsageError(
			`--every is "${every}", but must be a time between 1m and 24h, such as 15m or 1h30m`,
		);
	if (timeZone !== undefined && !daily && !cron)
		throw new UsageError("--time-zone is for --daily and --cron");
	if (daily === undefined && cron === undefined) return;
	// Loaded late: it has a library for cron expressions.
	const { parseSchedule } = await import("../crds/schedule.ts");
	const found = parseSchedule(scheduleOf(options) as PipelineSchedule);
	if ("problem" in found)
		throw new UsageError(
			found.problem.message
				.replace("spec.schedule.timeZone", "--time-zone")
				.replace("spec.schedule.cron", "--cron"),
		);
}

function isInterval(text: string): boolean {
	const [, hours = "0", minutes = "0"] =
		/^(?:(\d{1,2})h)?(?:(\d{1,4})m)?$/.exec(text) ?? [];
	const total = Number(hours) * 60 + Number(minutes);
	return total >= 1 && total <= 24 * 60;
}

function scheduleOf({ daily, every, cron, timeZone }: ScheduleOptions): object {
	return {
		...(daily && { type: "Daily", updateTime: daily.padStart(5, "0") }),
		...(every && { type: "Interval", interval: every }),
		...(cron && { type: "Cron", cron }),
		...(timeZone && { timeZone }),
	};
}

const columnNames = [
	...["EventID", "Timestamp", "Body", "Date"],
	...["Violations", "LoadedAt", "Run"],
];
const columnTypes = [
	...["String", "Integer", "Number", "Decimal", "Boolean"],
	...["Timestamp", "Date", "JSON"],
];

/** By its name in a spec or in the table, such as EventID or event_id. */
function columnNamed(text: string): string {
	const plain = (name: string) => name.replaceAll("_", "").toLowerCase().trim();
	const found = columnNames.find((name) => plain(name) === plain(text));
	if (found) return found;
	throw new UsageError(
		`--columns has "${text}", but must have names of ${columnNames.join(", ")}. A value of the body is a --body-column`,
	);
}

function bodyColumnOf(text: string): object {
	const [, name, bodyPointer, type] =
		/^([a-z][a-z0-9_]*)=(\/.*?)(?::([A-Za-z]+))?$/.exec(text) ?? [];
	const found = columnTypes.find(
		(one) => one.toLowerCase() === type?.toLowerCase(),
	);
	if (name && (type === undefined || found))
		return { name, bodyPointer, ...(found && { type: found }) };
	throw new UsageError(
		`--body-column is "${text}", but must be a name, a place and a type such as amount=/data/amount:Integer. Types are ${columnTypes.join(", ")}`,
	);
}

/** Where an event's type is. */
function placeOf({
	eventType,
	perEventType,
	typePointer: bodyPointer,
	typeHeader,
}: FilterOptions): object | undefined {
	if (bodyPointer === undefined && typeHeader === undefined) return undefined;
	if (!eventType && !perEventType)
		throw new UsageError(
			"--type-pointer and --type-header are for --event-type and --per-event-type",
		);
	return bodyPointer === undefined
		? { header: typeHeader!.toLowerCase() }
		: { bodyPointer };
}

function filterOf(
	{ eventType: types, match }: FilterOptions,
	place: object | undefined,
): object | undefined {
	if (!types && match === undefined) return undefined;
	return {
		...(types && { types: [...new Set(types)] }),
		...(place && { eventType: place }),
		...(match !== undefined && { match: matchOf(match) }),
	};
}

function matchOf(text: string): object {
	const [, bodyPointer, equals] = /^(\/[^=]*)=(.*)$/s.exec(text) ?? [];
	if (bodyPointer) return { bodyPointer, equals };
	throw new UsageError(
		`--match is "${text}", but must be a place in the body and a value, such as /order/status=paid`,
	);
}

interface FilterOptions {
	eventType?: string[] | undefined;
	typePointer?: string | undefined;
	typeHeader?: string | undefined;
	perEventType?: boolean | undefined;
	evolve?: boolean | undefined;
	match?: string | undefined;
}

/** Undefined if no option says anything about it. */
export function specOf(
	options: {
		displayName?: string | undefined;
		source?: string | undefined;
		destination?: string | undefined;
		table?: string | undefined;
		columns?: string | undefined;
		bodyColumn?: string[] | undefined;
		quarantine?: boolean | undefined;
		rejectedValues?: boolean | undefined;
		latestBy?: string | undefined;
	} & FilterOptions &
		ScheduleOptions,
): object | undefined {
	const { displayName, source, destination, table } = options;
	const { columns, bodyColumn, quarantine, rejectedValues } = options;
	const { latestBy } = options;
	const schedule = scheduleOf(options);
	const { perEventType, evolve } = options;
	const place = placeOf(options);
	const filter = filterOf(options, place);
	const tableSpec = {
		...(table && { name: table }),
		...(columns && { columns: columns.split(",").map(columnNamed) }),
		...(bodyColumn && { bodyColumns: bodyColumn.map(bodyColumnOf) }),
		...(evolve && { schema: "Evolve" }),
		...(perEventType && { perEventType }),
		...(perEventType && place && { eventType: place }),
		...(quarantine && { quarantine }),
		...(rejectedValues && { rejectedValues }),
		...(latestBy && { latestBy: latestBy.split(",") }),
	};
	const spec = {
		...(displayName && { displayName }),
		...(source && { sourceRef: { name: source } }),
		...(destination && { destinationRef: { name: destination } }),
		...(filter && { filter }),
		...(Object.keys(tableSpec).length > 0 && { table: tableSpec }),
		...(Object.keys(schedule).length > 0 && { schedule }),
	};
	return Object.keys(spec).length > 0 ? spec : undefined;
}
