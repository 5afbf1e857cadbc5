import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { awaitObject } from "../../packages/kube/watch/object-wait.ts";
import {
	type Cluster,
	chooseCluster,
	requireObject,
	wordsOf,
} from "../command/cluster.ts";
import { CommandError } from "../command/errors.ts";
import { type CommandGroup, examples } from "../command/group.ts";
import { untilInterrupted } from "../command/interrupt.ts";
import { nameOf, outputOption, print } from "../command/output.ts";
import { description } from "./description.ts";
import { printObjects } from "./list.ts";

/** Defines what every resource has: list, get, describe and delete. */
export function defineVerbs(
	group: CommandGroup,
	kind: ResourceKind<KubeObject>,
	{ about = "", newestFirst = false } = {},
): void {
	const [one, many] = wordsOf(kind);
	const noun = group.name();
	const name = `<${one.replace(" ", "-")}>`;
	group
		.command("list")
		.description(
			`List the ${many}${newestFirst ? ", the newest first" : ""}.${about}`,
		)
		.option("-A, --all-namespaces", `the ${many} of all namespaces`)
		.option("-l, --selector <labels>", "only those with these labels")
		.addOption(outputOption)
		.addHelpText(
			...examples(
				`tidemill ${noun} list -n shop`,
				`tidemill ${noun} list -o json -l team=sales`,
			),
		)
		.action(async ({ output: format, ...options }, command) =>
			printObjects(await chooseCluster(command.optsWithGlobals()), {
				kind,
				format,
				newestFirst,
				...options,
			}),
		);
	group
		.command("get")
		.description(`Print one ${one}.`)
		.argument(name)
		.addOption(outputOption)
		.addHelpText(...examples(`tidemill ${noun} get example -o yaml`))
		.action(async (name, { output: format }, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			await requireObject(cluster, kind, name);
			await printObjects(cluster, { kind, format, name });
		});
	group
		.command("describe")
		.description(
			`Show the settings and the state of one ${one}, and what Kubernetes recorded about it.`,
		)
		.argument(name)
		.addHelpText(...examples(`tidemill ${noun} describe example`))
		.action(async (name, _, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const object = await requireObject(cluster, kind, name);
			print(await description(cluster, object, Date.now()));
		});
	group
		.command("delete")
		.alias("rm")
		.description(`Delete ${many}.`)
		.argument(`<names...>`, `the ${many}`)
		.option("--ignore-not-found", "succeed if there is none of that name")
		.option("-w, --wait", "wait until it is gone")
		.addHelpText(...examples(`tidemill ${noun} delete example`))
		.action(async (names, options, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			for (const name of names as string[])
				await deleteObject(cluster, kind, name, options);
		});
}

async function deleteObject(
	cluster: Cluster,
	kind: ResourceKind<KubeObject>,
	name: string,
	{
		ignoreNotFound,
		wait,
	}: { ignoreNotFound?: boolean | undefined; wait?: boolean | undefined },
): Promise<void> {
	const { client, namespace } = cluster;
	const found = ignoreNotFound
		? await client.get(kind, name, namespace)
		: await requireObject(cluster, kind, name);
	if (!found) return;
	const { uid } = found.metadata;
	await client.delete(kind, name, namespace, { uid });
	if (wait) {
		const left = await untilInterrupted(
			`The deletion of ${nameOf(found)} continues. Wait for it again: kubectl wait --for=delete ${nameOf(found)} -n ${namespace}`,
			awaitObject(
				client,
				kind,
				found,
				() => false,
				new AbortController().signal,
			),
		);
		if (left) throw new CommandError(`${nameOf(found)} is still there.`);
	}
	print(`${nameOf(found)} deleted\n`);
}
