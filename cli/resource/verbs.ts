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
import { nameOf, outputOption, print, remark } from "../command/output.ts";
import { ask } from "../command/question.ts";
import { defineEdit } from "./edit.ts";
import { printObjects } from "./list.ts";

/** Defines what every resource has beside `create`: list, edit and delete. kubectl gets and describes. */
export function defineVerbs(
	group: CommandGroup,
	kind: ResourceKind<KubeObject>,
	{ about = "", newestFirst = false } = {},
): void {
	const [, many] = wordsOf(kind);
	const noun = group.name();
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
	defineEdit(group, kind);
	group
		.command("delete")
		.alias("rm")
		.description(
			`Delete ${many}. One that other resources use is refused, and they are named.`,
		)
		.argument(`<names...>`, `the ${many}`)
		.option("--ignore-not-found", "succeed if there is none of that name")
		.option("--force", "also what other resources use")
		.option("-y, --yes", "don't ask first, as in a terminal it does")
		.option("-w, --wait", "wait until it is gone")
		.addHelpText(...examples(`tidemill ${noun} delete example`))
		.action(async (names, options, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			for (const name of names as string[])
				await deleteObject(cluster, kind, name, options);
		});
}

interface Deletion {
	ignoreNotFound?: boolean | undefined;
	wait?: boolean | undefined;
	force?: boolean | undefined;
	yes?: boolean | undefined;
}

async function deleteObject(
	cluster: Cluster,
	kind: ResourceKind<KubeObject>,
	name: string,
	{ ignoreNotFound, wait, force, yes }: Deletion,
): Promise<void> {
	const { client, namespace } = cluster;
	const found = ignoreNotFound
		? await client.get(kind, name, namespace)
		: await requireObject(cluster, kind, name);
	if (!found) return;
	// Loaded late: it knows all warehouses.
	const [{ apiResources }, { releaseFromUsers, usersOf }] = await Promise.all([
		import("../../api/resources/api-resource.ts"),
		import("../../api/resources/usage.ts"),
	]);
	const { users = [] } =
		apiResources.find((one) => one.kind.kind === kind.kind) ?? {};
	const used = force
		? undefined
		: await usersOf(client, users, { name, namespace });
	if (used !== undefined)
		throw new CommandError(
			`${nameOf(found)} is used by ${used}. Delete or change them first, or repeat the command with --force.`,
		);
	if (!yes && process.stdin.isTTY) {
		const answer = await ask(
			`Delete ${nameOf(found)} in namespace ${namespace}? (y/N) `,
		);
		if (!/^y(es)?$/i.test(answer)) return remark("Nothing is deleted.\n");
	}
	const { uid } = found.metadata;
	await client.delete(kind, name, namespace, { uid });
	if (force)
		await releaseFromUsers(client, kind, found, { fieldManager: "tidemill" });
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
