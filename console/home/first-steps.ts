import { otherTypesTableOf } from "../../crds/table-name.ts";
import { shellWord } from "../../packages/escapes/shell.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import type { Destination, Pipeline } from "../generated/types.ts";
import type { SeenAccount } from "./health.ts";

export interface FirstStep {
	name: "source" | "sent" | "stored" | "destination" | "loaded";
	isDone: boolean;
	/** Where it is done. */
	to: string;
	query?: Record<string, string>;
}

/**
 * From nothing to a row, each step done by what has happened. Empty for an account that has more than one Pipeline, and for a
 * visitor who couldn't take them all.
 */
export function firstSteps({
	sources,
	destinations,
	pipelines,
	can,
}: SeenAccount): FirstStep[] {
	const kinds = ["sources", "destinations", "pipelines"];
	if (!destinations || !pipelines || pipelines.size > 1) return [];
	if (!kinds.every((kind) => can(kind, "create"))) return [];
	const all = [...sources.values()];
	const [pipeline] = pipelines.values();
	const source = all.find(({ lastEventTime }) => lastEventTime) ?? all[0];
	const at = source ? `sources/${source.name}` : "sources/new";
	const destination = [...destinations.values()].find(isReady);
	const query = {
		...(source && { source: source.name }),
		...(destination && { destination: destination.name }),
	};
	return [
		{ name: "source", isDone: source !== undefined, to: "sources/new" },
		{
			name: "sent",
			isDone: all.some(({ lastEventTime }) => lastEventTime !== undefined),
			to: at,
		},
		{
			name: "stored",
			isDone: all.some(({ counts }) => (counts?.archived ?? 0) > 0),
			to: at,
		},
		{
			name: "destination",
			isDone: destination !== undefined,
			to: "destinations/new",
		},
		{
			name: "loaded",
			isDone: pipeline !== undefined && hasRows(pipeline),
			...(pipeline
				? { to: `pipelines/${pipeline.name}` }
				: { to: "pipelines/new", query }),
		},
	];
}

function isReady({ conditions = [] }: Destination): boolean {
	return conditions.some(
		({ type, status }) => type === "Ready" && status === "True",
	);
}

/** Whether a Run has ever put a row into its table. */
export function hasRows({ lastSuccess }: Pipeline): boolean {
	return lastSuccess !== undefined && !lastSuccess.empty;
}

/** The command that shows rows of the Pipeline's table, in the namespace; undefined as long as there is no table. */
export function queryOf(
	{ tableName, table, eventTypeTables, destinationRef }: Pipeline,
	{ type }: Destination,
	namespace: string,
): string | undefined {
	if (tableName === undefined) return undefined;
	const quote = warehouses.get(type)?.nameQuote ?? '"';
	const [first] = eventTypeTables?.types ?? [];
	const name = table?.perEventType
		? (first?.table ?? otherTypesTableOf(tableName))
		: tableName;
	const query = `select * from ${quote}${name}${quote} limit 10`;
	return [
		...["tidemill", "sql", "--namespace", namespace],
		...["--destination", destinationRef.name, query],
	]
		.map(shellWord)
		.join(" ");
}
