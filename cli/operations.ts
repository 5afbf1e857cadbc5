import { type Operation, operationKind } from "../crds/generated/types.ts";
import { chooseCluster } from "./cluster.ts";
import { CommandError, command } from "./command.ts";
import { readArguments } from "./command-line.ts";
import { table } from "./table.ts";

/** `tidemill operations`. */
export const main = command("operations", {
	list: {
		usage: "",
		about: ["Lists the operations and their results, the newest first."],
		run: list,
	},
	cancel: {
		usage: "<operation>",
		about: ["Stops an operation."],
		run: cancel,
	},
});

async function list(args: string[]): Promise<number> {
	const { values } = readArguments(args, [], {});
	const { client, namespace } = await chooseCluster(values);
	const { items } = await client.list<Operation>(operationKind, { namespace });
	if (items.length === 0) {
		process.stderr.write(
			`There are no operations in namespace ${namespace}.\n`,
		);
		return 0;
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
	return 0;
}

async function cancel(args: string[]): Promise<number> {
	const { values, positionals } = readArguments(args, ["<operation>"], {});
	const { client, namespace } = await chooseCluster(values);
	const name = positionals[0]!;
	const found = await client.get<Operation>(operationKind, name, namespace);
	if (!found)
		throw new CommandError(
			`there is no operation "${name}" in namespace ${namespace}. List them with: tidemill operations list -n ${namespace}`,
		);
	await client.patch<Operation>(
		operationKind,
		name,
		namespace,
		{ metadata: { uid: found.metadata.uid }, spec: { cancel: true } },
		"merge",
		{ fieldManager: "tidemill" },
	);
	return 0;
}
