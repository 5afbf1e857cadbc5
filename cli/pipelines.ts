import { Option } from "@commander-js/extra-typings";
import { pipelineKind, type Run, runKind } from "../crds/generated/types.ts";
import { newRun, startedRunName } from "../crds/run.ts";
import { hasReason } from "../kube/client/errors.ts";
import {
	type Cluster,
	chooseCluster,
	requireObject,
} from "./command/cluster.ts";
import { datesOf, fromOption, toOption } from "./command/dates.ts";
import { CommandError } from "./command/errors.ts";
import { examples, type Group } from "./command/group.ts";
import { followRun } from "./follow/run-follower.ts";

/** `tidemill pipelines`. */
export function define(pipelines: Group): void {
	pipelines
		.command("run")
		.description("Start a run and print its name.")
		.argument("<pipeline>")
		.addOption(fromOption)
		.addOption(toOption)
		.addOption(new Option("--full", "load all dates").conflicts(["from", "to"]))
		.option(
			"-w, --wait",
			"show the progress until the run ends; the exit code is 1 if the run fails",
		)
		.addHelpText(
			"after",
			examples(
				"tidemill pipelines run orders --wait",
				"tidemill pipelines run orders --from 2026-01-01 --to 2026-01-31",
			),
		)
		.action(async (name, { full, wait, ...options }, command) => {
			const dates = datesOf(options);
			const cluster = await chooseCluster(command.optsWithGlobals());
			await requirePipeline(cluster, name);
			const { client, namespace } = cluster;
			const run = await client.create<Run>(
				runKind,
				newRun(
					name,
					{ name: startedRunName(name), namespace },
					{ ...dates, ...(full && { full }) },
				),
				{ fieldManager: "tidemill" },
			);
			process.stdout.write(`${run.metadata.name}\n`);
			if (wait) report(await followRun(cluster, run));
		});
}

/** Throws {@link CommandError} if the Run didn't succeed. */
function report({ metadata, status = {} }: Run): void {
	const { phase, rows = 0, dates, error } = status;
	const loaded = dates ? ` of ${dates.start} to ${dates.end}` : "";
	if (phase === "Succeeded")
		process.stderr.write(
			`Loaded ${rows.toLocaleString("en")} rows${loaded}.\n`,
		);
	else
		throw new CommandError(
			error
				? `${metadata.name} failed: ${error.message} (${error.code})`
				: `${metadata.name} was cancelled.`,
		);
}

/** A user who may not read pipelines skips this check. */
async function requirePipeline(cluster: Cluster, name: string): Promise<void> {
	await requireObject(cluster, pipelineKind, name).catch((error) => {
		if (!hasReason(error, "Forbidden")) throw error;
	});
}
