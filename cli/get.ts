import {
	destinationKind,
	operationKind,
	pipelineKind,
	runKind,
	sourceKind,
	trackingPlanKind,
} from "../crds/generated/types.ts";
import type { KubeObject, ResourceKind } from "../packages/kube/resource.ts";
import { didYouMean } from "../packages/service/nearest.ts";
import { chooseCluster, requireObject } from "./command/cluster.ts";
import { UsageError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { outputOption } from "./command/output.ts";
import { printObjects } from "./resource/list.ts";

/** The kinds by the names that `tidemill` and kubectl have for them. */
const kinds: Record<string, ResourceKind<KubeObject>> = {
	...named(sourceKind, "source", "wsrc"),
	...named(destinationKind, "destination", "wdst"),
	...named(pipelineKind, "pipeline", "wpl"),
	...named(runKind, "run", "wrun"),
	...named(trackingPlanKind, "trackingplan", "tplan"),
	...named(trackingPlanKind, "tracking-plan", "tracking-plans"),
	...named(operationKind, "operation", "wop"),
};

function named(kind: ResourceKind<KubeObject>, ...names: string[]) {
	return Object.fromEntries(
		[kind.plural, ...names].map((name) => [name, kind]),
	);
}

/** Of what is newest in itself. */
const newestFirst: string[] = [runKind.kind, operationKind.kind];

/** `tidemill get`, as kubectl has it. */
export function define(get: CommandGroup): void {
	get
		.argument("<kind>", "such as pipelines, or pipeline/orders")
		.argument("[name]")
		.option("-A, --all-namespaces", "of all namespaces")
		.option("-l, --selector <labels>", "only those with these labels")
		.addOption(outputOption)
		.addHelpText(
			...examples("tidemill get pipelines", "tidemill get source shop -o yaml"),
		)
		.action(async (given, second, { output: format, ...options }, command) => {
			const [word, name = second] = given.split("/", 2) as [string, string?];
			const kind = kinds[word.toLowerCase()];
			if (!kind)
				throw new UsageError(
					`there are no "${word}" in Tidemill.${didYouMean(word, Object.keys(kinds))} There are sources, destinations, pipelines, runs, tracking-plans and operations; events of a source have a command of their own: tidemill events list <source>`,
				);
			const cluster = await chooseCluster(command.optsWithGlobals());
			if (name !== undefined) await requireObject(cluster, kind, name);
			await printObjects(cluster, {
				kind,
				format,
				newestFirst: newestFirst.includes(kind.kind),
				...(name === undefined ? options : { name }),
			});
		});
}
