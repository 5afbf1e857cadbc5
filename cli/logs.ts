import {
	type Operation,
	operationKind,
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../crds/generated/types.ts";
import { hasCounted } from "../crds/run.ts";
import { didYouMean } from "../packages/service/nearest.ts";
import {
	type Cluster,
	chooseCluster,
	namesOf,
	requireNamespace,
} from "./command/cluster.ts";
import { CommandError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import {
	followOption,
	type LoggedKind,
	tailOption,
	writeJobLog,
} from "./resource/job-log.ts";

/** `tidemill logs`: of whatever has a log and this name. */
export function define(logs: CommandGroup): void {
	logs
		.argument("<name>", "a run, a pipeline, or an operation")
		.addOption(followOption)
		.addOption(tailOption)
		.addHelpText(
			...examples("tidemill logs orders", "tidemill logs orders-1a2b3c -f"),
		)
		.action(async (name, { follow = false, tail }, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const [kind, work] = await workOf(cluster, name);
			await writeJobLog(cluster, kind, work, { follow, lines: tail });
		});
}

async function workOf(
	cluster: Cluster,
	name: string,
): Promise<[LoggedKind, Run | Operation]> {
	const { client, namespace } = cluster;
	const run = await client.get<Run>(runKind, name, namespace);
	if (run) return ["Run", run];
	const operation = await client.get<Operation>(operationKind, name, namespace);
	if (operation) return ["Operation", operation];
	if (await client.get<Pipeline>(pipelineKind, name, namespace)) {
		const newest = await newestRun(cluster, name);
		if (newest) return ["Run", newest];
		throw new CommandError(
			`the pipeline "${name}" has no run yet. Start one with: tidemill pipelines run ${name} -n ${namespace}`,
		);
	}
	await requireNamespace(cluster);
	const names = await Promise.all(
		[pipelineKind, runKind, operationKind].map((kind) =>
			namesOf(cluster, kind),
		),
	);
	throw new CommandError(
		`there is no run, pipeline or operation "${name}" in namespace ${namespace}.${didYouMean(name, names.flat())} List runs with: tidemill runs list -n ${namespace}`,
	);
}

async function newestRun(
	{ client, namespace }: Cluster,
	pipeline: string,
): Promise<Run | undefined> {
	const { items } = await client.list<Run>(runKind, {
		namespace,
		fieldSelector: `spec.pipelineRef.name=${pipeline}`,
	});
	const createdOf = (run: Run) => run.metadata.creationTimestamp ?? "";
	return items
		.filter((run) => !hasCounted(run))
		.toSorted((a, b) => createdOf(a).localeCompare(createdOf(b)))
		.at(-1);
}
