import {
	type Destination,
	destinationKind,
	type Pipeline,
	pipelineKind,
	type Source,
	sourceKind,
} from "../crds/generated/types.ts";
import { parseSchedule } from "../crds/schedule.ts";
import {
	headerColumnOf,
	inferredColumnsOf,
	latestViewOf,
	otherTypesTableOf,
	parameterColumnOf,
	quarantineTableOf,
	rejectedTableOf,
	rescuedColumn,
	tableNameOf,
	typeTablesOf,
} from "../crds/table-name.ts";
import type { TableColumn } from "../packages/contracts/job.ts";
import { parameterField } from "../packages/contracts/route.ts";
import { jinjaText, markdownText } from "../packages/escapes/markup.ts";
import {
	columnNames,
	columnWords,
	rejectedColumns,
} from "../packages/warehouses/definition/definition.ts";
import { warehouseOf } from "../packages/warehouses/registry.ts";
import { chooseCluster, requireNamespace } from "./command/cluster.ts";
import { CommandError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { print, yamlText } from "./command/output.ts";

/** `tidemill dbt`. */
export function define(dbt: CommandGroup): void {
	dbt
		.command("sources")
		.description(
			"Print the sources.yml of a dbt project: the tables of the namespace's pipelines, by destination, with their columns, and how fresh they are by each pipeline's schedule.",
		)
		.option("--destination <name>", "only the tables of this destination")
		.addHelpText(
			...examples(
				"tidemill dbt sources > models/sources.yml",
				"tidemill dbt sources --destination warehouse",
			),
		)
		.action(async ({ destination: only }, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const { client, namespace } = cluster;
			const all = { namespace };
			const [pipelines, sources, destinations] = await Promise.all([
				client.list<Pipeline>(pipelineKind, all),
				client.list<Source>(sourceKind, all),
				client.list<Destination>(destinationKind, all),
			]);
			const found = dbtSources(
				{
					namespace,
					pipelines: pipelines.items,
					sources: sources.items,
					destinations: destinations.items.filter(
						({ metadata }) => only === undefined || metadata.name === only,
					),
				},
				Date.now(),
			);
			if (found.sources.length === 0) {
				await requireNamespace(cluster);
				throw new CommandError(
					`no pipeline of namespace ${namespace} loads into ${only === undefined ? "a destination" : `destination "${only}"`}. List them with: tidemill pipelines list -n ${namespace}`,
				);
			}
			print(
				`# Written by: tidemill dbt sources --namespace ${namespace}${only === undefined ? "" : ` --destination ${only}`}\n${await yamlText(found)}`,
			);
		});
}

export interface DbtInput {
	namespace: string;
	pipelines: Pipeline[];
	sources: Source[];
	destinations: Destination[];
}

/**
 * The properties of dbt's sources (docs.getdbt.com/reference/source-properties), by destination and table in the order of their
 * names. Freshness stands in `config`, where dbt 1.10 and later read it.
 */
export function dbtSources(
	{ namespace, pipelines, sources, destinations }: DbtInput,
	now: number,
) {
	const found = destinations.toSorted(byName).flatMap((destination) => {
		const warehouse = warehouseOf(destination.spec);
		const tables = pipelines
			.filter(
				({ spec }) => spec.destinationRef.name === destination.metadata.name,
			)
			.flatMap((pipeline) =>
				tablesOf(
					pipeline,
					sources.find(
						({ metadata }) => metadata.name === pipeline.spec.sourceRef.name,
					),
					now,
				),
			)
			.toSorted((a, b) => (a.name < b.name ? -1 : 1));
		if (!warehouse || tables.length === 0) return [];
		const { name } = destination.metadata;
		return [
			{
				name: name.replaceAll(/[-.]/g, "_"),
				description: `Events that Tidemill loads from webhooks into ${warehouse.definition.noun}: Destination ${name} of namespace ${namespace}.`,
				loader: "tidemill",
				...warehouse.definition.schemaOf(warehouse.own),
				tables,
			},
		];
	});
	return asJinja({ version: 2, sources: found });
}

/** Dbt renders each text with the analysts' environment, and senders and editors choose some of them. */
function asJinja<T>(value: T): T {
	return JSON.parse(JSON.stringify(value), (_, inner) =>
		typeof inner === "string" ? jinjaText(inner) : inner,
	);
}

function byName(a: Destination, b: Destination): number {
	return a.metadata.name < b.metadata.name ? -1 : 1;
}

function tablesOf(
	{ metadata, spec, status }: Pipeline,
	source: Source | undefined,
	now: number,
) {
	const name = tableNameOf(metadata.name, spec.table.name);
	const columns = [
		...namedColumns(spec, source),
		...evolvingColumns({ metadata, spec, ...(status && { status }) }),
	];
	const about = `Source ${spec.sourceRef.name}, loaded by Pipeline ${metadata.name}`;
	const isTimed = columns.some(({ from }) => from === "Timestamp");
	const table = (
		name: string,
		description: string,
		columns: TableColumn[],
	) => ({
		name,
		description,
		columns: columns.map((column) => ({
			name: column.name,
			description: columnWords(column, markdownText),
		})),
	});
	const freshness = isTimed && {
		config: {
			loaded_at_field: "timestamp",
			freshness: freshnessOf(spec, now),
		},
	};
	const own = spec.table.perEventType
		? [
				...typeTablesOf({ metadata, spec, ...(status && { status }) }).map(
					({ type, table }) => [
						table,
						`Events of type ${markdownText(type)} of ${about}.`,
					],
				),
				[otherTypesTableOf(name), `Events of other types of ${about}.`],
			]
		: [[name, `Events of ${about}.`]];
	return [
		...own.map(([name, description]) => ({
			...table(name!, description!, columns),
			...freshness,
		})),
		...(spec.table.latestBy
			? [
					table(
						latestViewOf(name),
						`The latest row of table ${name} for each ${spec.table.latestBy.join(", ")}: a view.`,
						columns,
					),
				]
			: []),
		...(spec.table.quarantine
			? [
					table(
						quarantineTableOf(name),
						`Events in quarantine of ${about}.`,
						withViolations(columns),
					),
				]
			: []),
		...(spec.table.rejectedValues
			? [
					{
						name: rejectedTableOf(name),
						description: `Values that columns of table ${name} couldn't hold, of ${about}.`,
						columns: Object.entries(rejectedColumns).map(
							([name, description]) => ({ name, description }),
						),
					},
				]
			: []),
	];
}

/** What a plan says about types doesn't matter here. */
function namedColumns(
	{ table: { columns, bodyColumns = [] } }: Pipeline["spec"],
	source: Source | undefined,
): TableColumn[] {
	const { capturedHeaders = [], capturedQueryParameters = [] } =
		source?.spec.webhook ?? {};
	return [
		...columns.map((from) => ({ name: columnNames[from], from })),
		...bodyColumns.map(
			({ name, bodyPointer, type = "String" }) =>
				({ name, from: { bodyPointer, type } }) as TableColumn,
		),
		...capturedHeaders.map((header) => ({
			name: headerColumnOf(header),
			from: { header },
		})),
		...capturedQueryParameters.map((name) => ({
			name: parameterColumnOf(name),
			from: { header: parameterField(name) },
		})),
	];
}

/** Those that the columns of the spec don't say. */
function evolvingColumns(
	pipeline: Pick<Pipeline, "metadata" | "spec" | "status">,
): TableColumn[] {
	const { schema, bodyColumns = [] } = pipeline.spec.table;
	if (schema !== "Evolve") return [];
	const known = new Set(bodyColumns.map(({ name }) => name));
	return [
		...inferredColumnsOf(pipeline)
			.filter(({ name }) => !known.has(name))
			.map(
				({ name, bodyPointer, type }) =>
					({ name, from: { bodyPointer, type } }) as TableColumn,
			),
		{
			name: rescuedColumn,
			from: { bodyPointer: "", type: "String", isRest: true },
		},
	];
}

/** Those of a table of events in quarantine. */
function withViolations(columns: TableColumn[]): TableColumn[] {
	const name = columnNames.Violations;
	return columns.some((column) => column.name === name)
		? columns
		: [...columns, { name, from: "Violations" }];
}

/**
 * A table misses at most the events since its last Run, and dbt may look just before the next one: so it warns after twice the
 * longest time between two Runs of the next week. Null, dbt's word for no check, where nobody knows when Runs come.
 */
function freshnessOf({ schedule, suspend }: Pipeline["spec"], now: number) {
	const parsed = parseSchedule(schedule);
	const slots = "schedule" in parsed ? parsed.schedule : undefined;
	if (!slots || suspend) return null;
	let longestMs = 0;
	for (let at = slots.next(now), end = at + weekMs; at < end; ) {
		const next = slots.next(at);
		longestMs = Math.max(longestMs, next - at);
		at = next;
	}
	const after = (gaps: number) => {
		const minutes = (gaps * longestMs) / 60_000;
		const [count, period] =
			minutes % 1_440 === 0
				? [minutes / 1_440, "day"]
				: minutes % 60 === 0
					? [minutes / 60, "hour"]
					: [minutes, "minute"];
		return { count, period };
	};
	return { warn_after: after(2), error_after: after(4) };
}

const weekMs = 7 * 86_400_000;
