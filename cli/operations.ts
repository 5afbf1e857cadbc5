import { type Operation, operationKind } from "../crds/generated/types.ts";
import {
	type Cluster,
	chooseCluster,
	requireObject,
} from "./command/cluster.ts";
import { examples, type Group } from "./command/group.ts";
import { table } from "./output/table.ts";

/** `tidemill operations`. */
export function define(operations: Group): void {
	operations
		.command("list")
		.description("List the operations and their results, the newest first.")
		.addHelpText("after", examples("tidemill operations list -n shop"))
		.action(async (_, command) =>
			list(await chooseCluster(command.optsWithGlobals())),
		);
	operations
		.command("cancel")
		.description("Stop an operation.")
		.argument("<operation>")
		.addHelpText("after", examples("tidemill operations cancel shop-dr1a2b"))
		.action(async (name, _, command) =>
			cancel(await chooseCluster(command.optsWithGlobals()), name),
		);
}

async function list({ client, namespace }: Cluster): Promise<void> {
	const { items } = await client.list<Operation>(operationKind, { namespace });
	if (items.length === 0) {
		process.stderr.write(
			`There are no operations in namespace ${namespace}.\n`,
		);
		return;
	}
	const createdOf = ({ metadata }: Operation) =>
		metadata.creationTimestamp ?? "";
	const rows = items
		.toSorted((a, b) => (createdOf(a) < createdOf(b) ? 1 : -1))
		.map(({ metadata, spec, status = {} }) => [
			metadata.name,
			spec.type,
			spec.sourceRef.name,
			status.phase ?? "Pending",
			status.error?.message ?? status.summary ?? "",
		]);
	process.stdout.write(
		table([["NAME", "TYPE", "SOURCE", "PHASE", "RESULT"], ...rows]),
	);
}

async function cancel(cluster: Cluster, name: string): Promise<void> {
	const { client, namespace } = cluster;
	const { metadata } = await requireObject(cluster, operationKind, name);
	await client.patch(
		operationKind,
		name,
		namespace,
		{ metadata: { uid: metadata.uid }, spec: { cancel: true } },
		"merge",
		{ fieldManager: "tidemill" },
	);
}
