import { Option } from "@commander-js/extra-typings";
import { pipelineKind, type Run, runKind } from "../crds/generated/types.ts";
import { hasEnded, newRun, startedRunName } from "../crds/run.ts";
import { unless } from "../packages/kube/client/errors.ts";
import {
	type Cluster,
	chooseCluster,
	requireObject,
} from "./command/cluster.ts";
import { datesOf, daysOption, fromOption, toOption } from "./command/dates.ts";
import { UsageError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { print } from "./command/output.ts";
import { defineCancel } from "./resource/change.ts";
import { setOption, withFields } from "./resource/fields.ts";
import { followRun, requireSuccess } from "./resource/follower.ts";
import { defineLogs } from "./resource/job-log.ts";
import { defineVerbs } from "./resource/verbs.ts";

/** `tidemill runs`. */
export function define(runs: CommandGroup): void {
	defineVerbs(runs, runKind, { newestFirst: true });
	defineStart(runs, "create");
	defineLogs(runs, "Run", "orders-1a2b3c");
	runs
		.command("wait")
		.description(
			"Show the progress of a run until it ends. The exit code is 1 if it fails or is cancelled.",
		)
		.argument("<run>")
		.addHelpText(...examples("tidemill runs wait orders-1a2b3c"))
		.action(async (name, _, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const run = await requireObject<Run>(cluster, runKind, name);
			requireSuccess(hasEnded(run) ? run : await followRun(cluster, run));
		});
	defineCancel(runs, runKind, {
		description:
			"Stop a run. Days that it has already replaced stay replaced. You can't undo this.",
		example: "orders-1a2b3c",
	});
}

const waitOption = new Option(
	"-w, --wait",
	"show the progress until the run ends; the exit code is 1 if the run fails",
);

/** `tidemill pipelines run` and `tidemill runs create` are the same. */
export function defineStart(group: CommandGroup, verb: string): void {
	const command = `tidemill ${group.name()} ${verb}`;
	group
		.command(verb)
		.description("Start a run and print its name.")
		.argument("<pipeline>")
		.addOption(fromOption)
		.addOption(toOption)
		.addOption(new Option("--full", "load all dates").conflicts(["from", "to"]))
		.addOption(setOption)
		.addOption(waitOption)
		.addHelpText(
			...examples(
				`${command} orders --wait`,
				`${command} orders --from 2026-01-01 --to 2026-01-31`,
			),
		)
		.action(async (pipeline, { full, set, wait, ...days }, command) => {
			const said = { ...datesOf(days), ...(full && { full }) };
			const spec = withFields(runKind, said, set);
			const cluster = await chooseCluster(command.optsWithGlobals());
			await start(cluster, pipeline, spec, wait);
		});
}

/** `tidemill pipelines full-reload`. */
export function defineFullReload(pipelines: CommandGroup): void {
	pipelines
		.command("full-reload")
		.description(
			"Start a run that loads all dates whose events are kept, and print its name. The same as run --full.",
		)
		.argument("<pipeline>")
		.addOption(waitOption)
		.addHelpText(...examples("tidemill pipelines full-reload orders"))
		.action(async (pipeline, { wait }, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			await start(cluster, pipeline, { full: true }, wait);
		});
}

/** `tidemill pipelines reload`. */
export function defineReload(pipelines: CommandGroup): void {
	pipelines
		.command("reload")
		.description(
			"Start a run that loads these dates again and leaves the others, and print its name. The same as run --from --to.",
		)
		.argument("<pipeline>")
		.addOption(fromOption)
		.addOption(toOption)
		.addOption(daysOption)
		.addOption(waitOption)
		.addHelpText(
			...examples(
				"tidemill pipelines reload orders --from 2026-01-01 --to 2026-01-31",
				"tidemill pipelines reload orders --days 7 --wait",
			),
		)
		.action(async (pipeline, { wait, ...days }, command) => {
			const { dates } = datesOf(days);
			if (!dates)
				throw new UsageError(
					"pass --from and --to, or --days; full-reload loads all dates",
				);
			const cluster = await chooseCluster(command.optsWithGlobals());
			await start(cluster, pipeline, { dates }, wait);
		});
}

async function start(
	cluster: Cluster,
	pipeline: string,
	spec: { dates?: { start: string; end: string }; full?: boolean },
	wait: boolean | undefined,
): Promise<void> {
	const { client, namespace } = cluster;
	await requirePipeline(cluster, pipeline);
	const run = await client.create<Run>(
		runKind,
		newRun(pipeline, { name: startedRunName(pipeline), namespace }, spec),
		{ fieldManager: "tidemill" },
	);
	print(`${run.metadata.name}\n`);
	if (wait) requireSuccess(await followRun(cluster, run));
}

/** A user who may not read pipelines skips this check. */
async function requirePipeline(cluster: Cluster, name: string): Promise<void> {
	await unless(requireObject(cluster, pipelineKind, name), "Forbidden");
}
