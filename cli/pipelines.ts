import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../crds/generated/types.ts";
import { newRun, startedRunName } from "../crds/run.ts";
import { hasReason } from "../kube/client/client.ts";
import { chooseCluster } from "./cluster.ts";
import { CommandError, command } from "./command.ts";
import { readArguments, UsageError } from "./command-line.ts";
import { followRun } from "./run-follower.ts";

/** `tidemill pipelines`. */
export const main = command("pipelines", {
	run: {
		usage: "<pipeline> [--from <date> --to <date>] [--wait]",
		about:
			"start a run, of these UTC dates alone if they are given; with --wait, show how far it is until it has ended",
		run: start,
	},
});

async function start(args: string[]): Promise<number> {
	const { values, positionals } = readArguments(args, ["<pipeline>"], {
		from: { type: "string" },
		to: { type: "string" },
		wait: { type: "boolean", short: "w" },
	});
	const { from, to } = values;
	if ((from === undefined) !== (to === undefined))
		throw new UsageError("--from and --to go together");
	const cluster = chooseCluster(values);
	const { client, namespace } = cluster;
	const name = positionals[0]!;
	await requirePipeline(cluster, name);
	const run = await client.create<Run>(
		runKind,
		newRun(
			name,
			{ name: startedRunName(name), namespace },
			from && to ? { dates: { start: from, end: to } } : {},
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

/** Who may use runs alone can't be told, and needn't be. */
async function requirePipeline(
	{ client, namespace }: ReturnType<typeof chooseCluster>,
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
			`there is no pipeline "${name}" in ${namespace}. See: kubectl get pipelines -n ${namespace}`,
		);
}
