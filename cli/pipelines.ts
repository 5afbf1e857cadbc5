import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../crds/generated/types.ts";
import { newRun, startedRunName } from "../crds/run.ts";
import { hasReason } from "../kube/client/client.ts";
import { type Cluster, chooseCluster } from "./cluster.ts";
import { CommandError, command } from "./command.ts";
import { readArguments, UsageError } from "./command-line.ts";
import { followRun } from "./run-follower.ts";

/** `tidemill pipelines`. */
export const main = command("pipelines", {
	run: {
		usage: "<pipeline> [--from <date> --to <date> | --full] [--wait]",
		about: [
			"Starts a run and prints its name.",
			"--from and --to limit it to these UTC dates, such as 2026-01-31. --full loads all dates.",
			"--wait shows the progress until the run ends. The exit code is 1 if the run fails.",
		],
		run: start,
	},
});

async function start(args: string[]): Promise<number> {
	const { values, positionals } = readArguments(args, ["<pipeline>"], {
		from: { type: "string" },
		to: { type: "string" },
		full: { type: "boolean" },
		wait: { type: "boolean", short: "w" },
	});
	const { from, to, full } = values;
	if ((from === undefined) !== (to === undefined))
		throw new UsageError("--from and --to must be used together");
	if (full && from !== undefined)
		throw new UsageError("--full can't be used with --from and --to");
	const cluster = await chooseCluster(values);
	const { client, namespace } = cluster;
	const name = positionals[0]!;
	await requirePipeline(cluster, name);
	const run = await client.create<Run>(
		runKind,
		newRun(
			name,
			{ name: startedRunName(name), namespace },
			{
				...(from && to && { dates: { start: from, end: to } }),
				...(full && { full }),
			},
		),
		{ fieldManager: "tidemill" },
	);
	process.stdout.write(`${run.metadata.name}\n`);
	return values.wait ? report(await followRun(cluster, run)) : 0;
}

function report({ metadata, status = {} }: Run): number {
	const { phase, rows = 0, dates, error } = status;
	const loaded = dates ? ` of ${dates.start} to ${dates.end}` : "";
	if (phase === "Succeeded") {
		process.stderr.write(
			`Loaded ${rows.toLocaleString("en")} rows${loaded}.\n`,
		);
		return 0;
	}
	throw new CommandError(
		error
			? `${metadata.name} failed: ${error.message} (${error.code})`
			: `${metadata.name} was cancelled.`,
	);
}

/** A user who may not read pipelines skips this check. */
async function requirePipeline(
	{ client, namespace }: Cluster,
	name: string,
): Promise<void> {
	const found = await client
		.get<Pipeline>(pipelineKind, name, namespace)
		.catch((error) => {
			if (hasReason(error, "Forbidden")) return true;
			throw error;
		});
	if (!found)
		throw new CommandError(
			`there is no pipeline "${name}" in namespace ${namespace}. List them with: kubectl get pipelines -n ${namespace}`,
		);
}
