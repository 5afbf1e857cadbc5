import { Option } from "@commander-js/extra-typings";
import {
	type Destination,
	type DestinationSpec,
	destinationKind,
} from "../crds/generated/types.ts";
import { annotation } from "../crds/labels.ts";
import { chooseCluster } from "./command/cluster.ts";
import { UsageError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { askOperator } from "./resource/change.ts";
import {
	createObject,
	displayNameOption,
	dryRunOption,
	fileOption,
	readyOption,
	requireReady,
} from "./resource/creation.ts";
import { defineVerbs } from "./resource/verbs.ts";

/** `tidemill destinations`. */
export function define(destinations: CommandGroup): void {
	defineVerbs(destinations, destinationKind);
	destinations
		.command("create")
		.description("Create a destination: a DuckDB file or a BigQuery dataset.")
		.argument("[name]")
		.addOption(displayNameOption)
		.option("--duckdb <path>", "the path of a DuckDB file on its volume")
		.option("--claim <name>", "the PersistentVolumeClaim with the DuckDB file")
		.addOption(
			new Option(
				"--bigquery <project.dataset>",
				"a dataset of BigQuery",
			).conflicts(["duckdb", "claim"]),
		)
		.option("--location <name>", "where the dataset is, such as EU")
		.option("--create-dataset", "create the dataset if it doesn't exist")
		.option(
			"--credentials <secret>",
			"the Secret whose key `key.json` is the key of a Google service account",
		)
		.option(
			"--service-account <name>",
			"the ServiceAccount of the Pods that load",
		)
		.addOption(fileOption)
		.addOption(dryRunOption)
		.addOption(readyOption)
		.addHelpText(
			"after",
			examples(
				"tidemill destinations create lake --duckdb lake.duckdb --claim lake",
				"tidemill destinations create wh --bigquery acme-data.events --location EU --wait",
			),
		)
		.action(async (name, options, command) => {
			const { file, dryRun, wait, ...settings } = options;
			const spec = specOf(settings);
			if (file === undefined && !spec?.type)
				throw new UsageError("pass --duckdb, --bigquery or --file");
			await createObject<Destination>(
				command.optsWithGlobals(),
				destinationKind,
				{ name, spec, file, dryRun, wait },
			);
		});
	destinations
		.command("check")
		.description(
			"Verify once more that the destination can be written, and print the result. The exit code is 1 if it can't.",
		)
		.argument("<destination>")
		.addHelpText("after", examples("tidemill destinations check lake"))
		.action(async (name, _, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const checked = await askOperator<Destination>(
				cluster,
				destinationKind,
				name,
				annotation.check,
				(_, { status }, value) => status?.lastCheck?.request === value,
			);
			process.stdout.write(`${requireReady(checked, name).message}\n`);
		});
}

/** Undefined if no option says anything about it. Throws {@link UsageError}. */
export function specOf(options: {
	displayName?: string | undefined;
	duckdb?: string | undefined;
	claim?: string | undefined;
	bigquery?: string | undefined;
	location?: string | undefined;
	createDataset?: boolean | undefined;
	credentials?: string | undefined;
	serviceAccount?: string | undefined;
}): Partial<DestinationSpec> | undefined {
	const { displayName, duckdb, claim, bigquery, location } = options;
	const { createDataset = false, credentials, serviceAccount } = options;
	for (const [option, value, type, given] of [
		["--claim", claim, "--duckdb", duckdb],
		["--location", location, "--bigquery", bigquery],
		["--create-dataset", options.createDataset, "--bigquery", bigquery],
		["--credentials", credentials, "--bigquery", bigquery],
	] as const)
		if (value !== undefined && given === undefined)
			throw new UsageError(`${option} is only for ${type}`);
	// A project of a domain has dots, too: example.com:acme-data.
	const [, projectId, dataset] = /^(.+)\.([^.]+)$/.exec(bigquery ?? "") ?? [];
	if (bigquery !== undefined && dataset === undefined)
		throw new UsageError(
			`--bigquery is "${bigquery}", but must be a project and a dataset, such as acme-data.events`,
		);
	const spec: Partial<DestinationSpec> = {
		...(duckdb !== undefined && {
			type: "DuckDB" as const,
			duckDB: { path: duckdb, ...(claim && { volumeClaimName: claim }) },
		}),
		...(projectId &&
			dataset && {
				type: "BigQuery" as const,
				bigQuery: {
					projectId,
					dataset,
					createDataset,
					...(location && { location }),
					...(credentials && {
						credentials: { secretRef: { name: credentials, key: "key.json" } },
					}),
				},
			}),
		...(displayName && { displayName }),
		...(serviceAccount && { serviceAccountName: serviceAccount }),
	};
	return Object.keys(spec).length > 0 ? spec : undefined;
}
