import { Option } from "@commander-js/extra-typings";
import {
	type Pipeline,
	type PipelineSchedule,
	pipelineKind,
} from "../crds/generated/types.ts";
import { UsageError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { defineSuspension } from "./resource/change.ts";
import { createObject, defineCreate } from "./resource/creation.ts";
import { defineVerbs } from "./resource/verbs.ts";
import { defineFullReload, defineReload, defineStart } from "./runs.ts";

/** `tidemill pipelines`. */
export function define(pipelines: CommandGroup): void {
	defineVerbs(pipelines, pipelineKind);
	defineCreate(
		pipelines,
		"Create a pipeline. Without --daily, --every and --cron, it runs only when somebody starts it.",
	)
		.option("--source <name>", "the source of the events")
		.option("--destination <name>", "the destination of the table")
		.option("--table <name>", "the name of the table")
		.option(
			"--body-column <column>",
			"a column with a value of the body, as name=/pointer or name=/pointer:Type, such as amount=/data/amount:Integer; it can be repeated. Without a type, it has that of the source's tracking plan, or String",
			(column: string, others: string[] = []) => [...others, column],
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
		.addHelpText(
			...examples(
				"tidemill pipelines create charges --source stripe --destination lake --every 15m --body-column amount=/data/object/amount:Integer",
				"tidemill pipelines create orders --source shop --destination lake --daily 06:30 --time-zone Europe/Berlin",
				"tidemill pipelines create refunds --source stripe --destination lake --set filter.types=charge.refunded",
				"tidemill pipelines create github --source github --destination lake --set table.perEventType=true --set table.eventType.header=x-github-event",
				"tidemill pipelines create -f pipeline.yaml",
			),
		)
		.action(async (name, options, command) => {
			const { set, file, dryRun, wait, output, ...settings } = options;
			const spec = specOf(settings);
			const isNamed = settings.source && settings.destination;
			if (file === undefined && !set && !isNamed)
				throw new UsageError("pass --source and --destination, or --file");
			await checkSchedule(settings);
			await createObject<Pipeline>(command.optsWithGlobals(), pipelineKind, {
				...{ name, spec, set, file, dryRun, wait, output },
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

const columnTypes = [
	...["String", "Integer", "Number", "Decimal", "Boolean"],
	...["Timestamp", "Date", "JSON"],
];

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

export function specOf(
	options: {
		source?: string | undefined;
		destination?: string | undefined;
		table?: string | undefined;
		bodyColumn?: string[] | undefined;
	} & ScheduleOptions,
): object {
	const { source, destination, table, bodyColumn } = options;
	const schedule = scheduleOf(options);
	const tableSpec = {
		...(table && { name: table }),
		...(bodyColumn && { bodyColumns: bodyColumn.map(bodyColumnOf) }),
	};
	return {
		...(source && { sourceRef: { name: source } }),
		...(destination && { destinationRef: { name: destination } }),
		...(Object.keys(tableSpec).length > 0 && { table: tableSpec }),
		...(Object.keys(schedule).length > 0 && { schedule }),
	};
}
