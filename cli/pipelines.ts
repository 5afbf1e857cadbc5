import { Option } from "@commander-js/extra-typings";
import { type Pipeline, pipelineKind } from "../crds/generated/types.ts";
import { UsageError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { defineSuspension } from "./resource/change.ts";
import {
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
		.addHelpText(
			...examples(
				"tidemill pipelines create orders --source shop --destination lake --daily 06:30 --time-zone Europe/Berlin",
				"tidemill pipelines create -f pipeline.yaml",
			),
		)
		.action(async (name, options, command) => {
			const { file, dryRun, wait, ...settings } = options;
			const spec = specOf(settings);
			if (file === undefined && (!settings.source || !settings.destination))
				throw new UsageError("pass --source and --destination, or --file");
			await createObject<Pipeline>(command.optsWithGlobals(), pipelineKind, {
				name,
				spec,
				file,
				dryRun,
				wait,
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

/** Undefined if no option says anything about it. */
export function specOf(options: {
	displayName?: string | undefined;
	source?: string | undefined;
	destination?: string | undefined;
	table?: string | undefined;
	daily?: string | undefined;
	every?: string | undefined;
	cron?: string | undefined;
	timeZone?: string | undefined;
}): object | undefined {
	const { displayName, source, destination, table } = options;
	const { daily, every, cron, timeZone } = options;
	const schedule = {
		...(daily && { type: "Daily", updateTime: daily }),
		...(every && { type: "Interval", interval: every }),
		...(cron && { type: "Cron", cron }),
		...(timeZone && { timeZone }),
	};
	const spec = {
		...(displayName && { displayName }),
		...(source && { sourceRef: { name: source } }),
		...(destination && { destinationRef: { name: destination } }),
		...(table && { table: { name: table } }),
		...(Object.keys(schedule).length > 0 && { schedule }),
	};
	return Object.keys(spec).length > 0 ? spec : undefined;
}
