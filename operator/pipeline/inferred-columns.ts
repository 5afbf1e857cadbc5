import type {
	Pipeline,
	PipelineColumn,
	PipelineInferredColumns,
	Run,
	RunColumn,
} from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import { inferredColumnsOf, tableNameOf } from "../../crds/table-name.ts";
import {
	type ColumnRoom,
	type FoundColumn,
	type FoundColumnType,
	foundColumnBytes,
	foundColumnTypes,
	type JobError,
	maxBodyColumns,
	maxFoundColumnBytes,
	maxPointerLength,
} from "../../packages/contracts/job.ts";
import { pointerParts } from "../../packages/json/json-pointer.ts";
import { ageOf } from "../../packages/kube/resource.ts";
import { columnNames } from "../../packages/warehouses/definition/definition.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import { snakeCase, uniqueName } from "./event-type-tables.ts";

/** Of any warehouse, since a Pipeline may get another one. */
const reservedNames = new Set([
	...Object.values(columnNames),
	...[...warehouses.values()].flatMap(
		({ reservedColumns = [] }) => reservedColumns,
	),
]);

/**
 * The columns that members of bodies have, with those that Runs have found since, as far as there is room. A member keeps its column: of two
 * that would have the same name, the one that is found later gets another. Those of the spec come first. What a Run that goes on says
 * of a member again is the type that the table has for it.
 */
export function inferredColumns(
	pipeline: Pipeline,
	runs: readonly Run[],
): PipelineInferredColumns | undefined {
	const { metadata, spec, status } = pipeline;
	// What was turned off may be turned on again.
	if (spec.table.schema !== "Evolve") return status?.inferredColumns;
	const table = tableNameOf(metadata.name, spec.table.name);
	const own = spec.table.bodyColumns ?? [];
	const columns = inferredColumnsOf(pipeline).filter(
		({ name, bodyPointer }) =>
			!own.some(
				(column) => column.name === name && column.bodyPointer !== bodyPointer,
			),
	);
	const names = new Set([...own, ...columns].map(({ name }) => name));
	const pointers = new Set(
		[...own, ...columns].map(({ bodyPointer }) => bodyPointer),
	);
	const found = runs
		.filter(({ status }) => status?.layout?.table === table)
		.toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1))
		.flatMap((run) =>
			(run.status?.columns ?? []).map((column) => ({
				...column,
				isOfToday: !hasEnded(run),
			})),
		);
	const places = new Map(
		columns.map(({ bodyPointer }, place) => [bodyPointer, place]),
	);
	// The Run that goes first is the older one, so it never waits for another.
	const retyped = new Set<string>();
	const room = roomBeside(
		pipeline,
		columns.filter((column) => !isOneOf(own, column)),
	);
	for (const column of found) {
		const { bodyPointer, type, isOfToday } = column;
		const bytes = foundColumnBytes(column);
		const place = places.get(bodyPointer);
		if (isOfToday && place !== undefined && !retyped.has(bodyPointer)) {
			columns[place] = { ...columns[place]!, type };
			retyped.add(bodyPointer);
		}
		if (pointers.has(bodyPointer) || room.columns <= 0 || bytes > room.bytes)
			continue;
		const name = nameFor(bodyPointer, (name) => names.has(name));
		names.add(name);
		pointers.add(bodyPointer);
		places.set(bodyPointer, columns.length);
		columns.push({ name, bodyPointer, type });
		room.columns--;
		room.bytes -= bytes;
	}
	return { table, columns };
}

/**
 * Those of the columns that the spec doesn't have itself, as far as there is room beside its own, and the room for more.
 * @param most columns from bodies, those of the spec among them.
 */
export function columnsBeside(
	pipeline: Pipeline,
	most: number = maxBodyColumns,
): {
	columns: (PipelineColumn & FoundColumn)[];
	room: ColumnRoom;
} {
	const own = pipeline.spec.table.bodyColumns ?? [];
	const columns = inferredColumnsOf(pipeline)
		.filter((column) => !isOneOf(own, column))
		// The word of a later version: the member is in the column of the rest.
		.filter((column) => isKnown(column))
		.slice(0, Math.max(0, most - own.length));
	return { columns, room: roomBeside(pipeline, columns, most) };
}

function isOneOf(
	own: readonly { name: string; bodyPointer: string }[],
	{ name, bodyPointer }: PipelineColumn,
): boolean {
	return own.some(
		(column) => column.name === name || column.bodyPointer === bodyPointer,
	);
}

/** The members that a Job says it has found, but for what no status can hold. */
export function foundColumns({ columns = {} }: JobError): RunColumn[] {
	return Object.entries(columns)
		.filter(
			([pointer, type]) =>
				pointer.length <= maxPointerLength &&
				/^(\/([^~/]|~[01])*)+$/.test(pointer) &&
				isKnown({ type }),
		)
		.map(([bodyPointer, type]) => ({ bodyPointer, type }));
}

function isKnown<Column extends { type: string }>(
	column: Column,
): column is Column & { type: FoundColumnType } {
	return (foundColumnTypes as readonly string[]).includes(column.type);
}

function roomBeside(
	{ spec }: Pipeline,
	columns: readonly PipelineColumn[],
	most: number = maxBodyColumns,
): ColumnRoom {
	const own = spec.table.bodyColumns?.length ?? 0;
	return {
		columns: most - own - columns.length,
		bytes:
			maxFoundColumnBytes -
			columns.reduce((sum, column) => sum + foundColumnBytes(column), 0),
	};
}

/** A name that `spec.table.bodyColumns` may have, too. */
function nameFor(
	bodyPointer: string,
	isTaken: (name: string) => boolean,
): string {
	const words = pointerParts(bodyPointer)
		.map(snakeCase)
		.filter((part) => part !== "")
		.join("_");
	const isUsable =
		/^[a-z]/.test(words) &&
		!/^(header|query)_/.test(words) &&
		!reservedNames.has(words);
	return uniqueName(isUsable ? words : `body_${words}`, bodyPointer, isTaken);
}
