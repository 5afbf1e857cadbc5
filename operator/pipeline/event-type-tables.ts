import type {
	Pipeline,
	PipelineEventTypeTables,
	Run,
} from "../../crds/generated/types.ts";
import {
	otherTypesTableOf,
	rejectedTableOf,
	tableNameOf,
	typeTablesOf,
} from "../../crds/table-name.ts";
import { maxEventTypes } from "../../packages/contracts/job.ts";
import {
	isNamedByDigest,
	nameDigest,
} from "../../packages/contracts/name-digest.ts";
import { ageOf } from "../../packages/kube/resource.ts";

/** Some warehouses cut off a longer name. */
const maxNameLength = 63;

/** How many types of the Pipeline's events may get a table. */
export function mostTypeTables({ spec: { table } }: Pick<Pipeline, "spec">) {
	return table.maxEventTypes ?? maxEventTypes;
}

/**
 * The types that have a table, with those that Runs have found since, as far as there may be more. Each keeps its name for ever: of two
 * types that would have the same name, the one that is found later gets another. So does a type whose table Runs found to be somebody
 * else's, once.
 * @param isTaken Whether another Pipeline has a table of the name.
 */
export function eventTypeTables(
	pipeline: Pipeline,
	runs: readonly Run[],
	isTaken: (table: string) => boolean,
): PipelineEventTypeTables | undefined {
	const { metadata, spec, status } = pipeline;
	// What was turned off may be turned on again.
	if (!spec.table.perEventType) return status?.eventTypeTables;
	const table = tableNameOf(metadata.name, spec.table.name);
	const own = runs
		.filter(({ status }) => status?.layout?.table === table)
		.toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1));
	const foreign = own.flatMap(({ status }) => status?.takenTables ?? []);
	const types = [...typeTablesOf(pipeline)];
	const names = new Set(
		[
			otherTypesTableOf(table),
			rejectedTableOf(table),
			...types.map(({ table }) => table),
			...foreign,
		].map((name) => name.toLowerCase()),
	);
	const nameFor = (type: string) => {
		const name = uniqueName(
			`${table}_${snakeCase(type)}`,
			type,
			(name) => names.has(name.toLowerCase()) || isTaken(name),
		);
		names.add(name.toLowerCase());
		return { type, table: name };
	};
	for (const [index, { type, table }] of types.entries())
		if (foreign.includes(table) && !isNamedByDigest(type, table))
			types[index] = nameFor(type);
	for (const type of own.flatMap(({ status }) => status?.eventTypes ?? [])) {
		if (types.length >= mostTypeTables(pipeline)) break;
		if (!types.some((known) => known.type === type)) types.push(nameFor(type));
	}
	return { table, types };
}

/** A text's words as a part of a name; empty if it has none. */
export function snakeCase(text: string): string {
	return text
		.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
		.toLowerCase()
		.replaceAll(/[^a-z0-9]+/g, "_")
		.replaceAll(/^_|_$/g, "");
}

/**
 * The wanted name, or if it is too long, taken or ends with `_` its beginning and a digest.
 * @param key What the name is for.
 */
export function uniqueName(
	wanted: string,
	key: string,
	isTaken: (name: string) => boolean,
): string {
	const isComplete = !wanted.endsWith("_") && wanted.length <= maxNameLength;
	if (isComplete && !isTaken(wanted)) return wanted;
	for (let tries = 0; ; tries++) {
		const begin = wanted.slice(0, maxNameLength - 9).replace(/_$/, "");
		const name = `${begin}_${nameDigest(key, tries)}`;
		if (!isTaken(name)) return name;
	}
}
