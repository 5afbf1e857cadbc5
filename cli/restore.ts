import { readFile } from "node:fs/promises";
import { annotation } from "../crds/labels.ts";
import type { KubeClient } from "../packages/kube/client/client.ts";
import { kinds } from "../packages/kube/kinds.ts";
import { backupText, parseBackup } from "./backup/backup-text.ts";
import { type Compared, compared } from "./backup/comparison.ts";
import { type BackedUpObject, readKept } from "./backup/kept.ts";
import { merged, type Needed, stateOf } from "./backup/needed.ts";
import { type Cluster, chooseCluster } from "./command/cluster.ts";
import { CommandError, UsageError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { dataOption, dataText, print, table } from "./command/output.ts";

/** `tidemill restore`. */
export function define(restore: CommandGroup): void {
	restore
		.option(
			"--check <backup>",
			"compare the cluster with a file that tidemill backup has written: what the backup lacks, what kubectl apply of it would change, and which Secrets and other needed objects are there. It only reads; the exit code is 1 if anything differs or is missing",
		)
		.option(
			"--complete",
			"say that all resources are there again: the operator then removes the routes of sources that aren't, and unknown URLs are answered with 404",
		)
		.addOption(dataOption)
		.addHelpText(
			...examples(
				"tidemill restore --check backup.yaml",
				"tidemill restore --complete -n tidemill",
			),
		)
		.action(async ({ check, complete, output }, command) => {
			if ((check === undefined) === !complete)
				throw new UsageError("pass either --check <backup> or --complete");
			const cluster = await chooseCluster(command.optsWithGlobals());
			if (check === undefined) return sayComplete(cluster);
			const found = await checked(cluster.client, check);
			print(
				output === "table"
					? textOf(found)
					: await dataText(found, output as "json" | "yaml"),
			);
			if (!isWhole(found)) process.exitCode = 1;
		});
}

async function sayComplete({ client, namespace }: Cluster): Promise<void> {
	const { items } = await client.list(kinds.lease, { namespace });
	const waiting = items.filter(
		({ metadata }) => metadata.annotations?.[annotation.restore] === "awaited",
	);
	if (waiting.length === 0)
		throw new CommandError(
			`No operator in namespace "${namespace}" waits for a restore. Name the namespace in which Tidemill is installed by --namespace.`,
		);
	const annotations = { [annotation.restore]: "complete" };
	for (const { metadata } of waiting) {
		await client.patch(
			kinds.lease,
			metadata.name,
			namespace,
			{ metadata: { annotations } },
			"merge",
		);
		print(
			`The operator with the Lease ${metadata.name} takes the resources as complete within seconds.`,
		);
	}
}

interface Found {
	/** When the backup was written. */
	time: string;
	/** The only one that it is about; absent for all. */
	namespace?: string;
	resources: Compared[];
	needed: (Needed & {
		state: Awaited<ReturnType<typeof stateOf>>;
	})[];
}

async function checked(client: KubeClient, file: string): Promise<Found> {
	const backup = await parseBackup(await readFile(file, "utf8"), file);
	const { time, namespace } = backup;
	const kept = await readKept(client, namespace);
	// Read as a backup is, so that the same text is the same value.
	const live = await parseBackup(await backupText({ ...kept, time }), file);
	const needed = merged([...backup.needed, ...live.needed]);
	return {
		time,
		...(namespace !== undefined && { namespace }),
		resources: compared(
			live.manifests.filter((each) => !isUnread(each, needed)),
			backup.manifests.filter((each) => !isUnread(each, needed)),
		),
		needed: await Promise.all(
			needed.map(async (one) => ({
				...one,
				state: await stateOf(client, one),
			})),
		),
	};
}

/** What somebody could not read, now or when the backup was written, is needed, and nobody knows what it has. */
function isUnread(
	{ kind, metadata: { name, namespace = "" } }: BackedUpObject,
	needed: readonly Needed[],
): boolean {
	return needed.some(
		(one) =>
			one.kind === kind && one.name === name && one.namespace === namespace,
	);
}

function isWhole({ resources, needed }: Found): boolean {
	return (
		resources.every(({ state }) => state === "Same") &&
		needed.every(({ state }) => state !== "Missing")
	);
}

const shownFields = 3;

function textOf({ time, namespace, resources, needed }: Found): string {
	const different = resources.filter(({ state }) => state !== "Same");
	const same = resources.length - different.length;
	const scope = namespace === undefined ? "all namespaces" : namespace;
	const parts = [
		`The backup is of ${time} and of ${scope}. ${same} of ${resources.length} resources are the same in the cluster.\n`,
	];
	if (different.length > 0)
		parts.push(
			table([
				["RESOURCE", "NAMESPACE", "IN THE BACKUP", "A RESTORE"],
				...different.map(({ kind, namespace, name, state, fields }) => [
					`${kind.toLowerCase()}/${name}`,
					namespace,
					...{
						Same: ["as it is", "changes nothing"],
						Changed: [`has another ${listed(fields)}`, "sets what it has"],
						OnlyInBackup: ["only there", "creates it"],
						OnlyInCluster: ["missing", "leaves it as it is"],
					}[state],
				]),
			]),
		);
	if (needed.length > 0)
		parts.push(
			table([
				["NEEDED", "NAMESPACE", "NAME", "FOR", "IN THE CLUSTER"],
				...needed.map(({ kind, namespace, name, use, state }) => [
					...[kind, namespace, name, use],
					{ There: "yes", Missing: "missing", Unseen: "look yourself" }[state],
				]),
			]),
		);
	return parts.join("\n");
}

function listed(fields: readonly string[]): string {
	const more = fields.length - shownFields;
	const shown = fields.slice(0, shownFields).join(", ");
	return more > 0 ? `${shown} and ${more} more` : shown;
}
