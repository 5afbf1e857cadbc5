import type {
	Destination,
	Layout,
	Pipeline,
} from "../../crds/generated/types.ts";
import { tableNameOf } from "../../crds/table-name.ts";
import type { TableColumn } from "../../packages/contracts/job.ts";
import { parseBinding } from "../../packages/warehouses/definition/binding.ts";
import { warehouseOf, warehouses } from "../../packages/warehouses/registry.ts";

/**
 * What a Pipeline's Runs write to, as layouts name it, even if they can't run. One process at a time may write to it, and it
 * is unique within a namespace: a file on its volume, or one table where many can be loaded at once.
 * @param name Of the table, if it is another than the Pipeline's own.
 */
export function warehouseNameOf(
	{ metadata, spec: { table } }: Pipeline,
	destination: Destination,
	name = tableNameOf(metadata.name, table.name),
): string {
	const { spec, status } = destination;
	const warehouse = warehouseOf(spec);
	const port = parseBinding(status?.reached?.address ?? "")?.port;
	const lock = warehouse
		? warehouse.definition.writeLock(warehouse.own, name, port)
		: `${destination.metadata.name}.${name}`;
	return `${spec.type}:${lock}`;
}

/** Such a name as turns and stored layouts are compared by: equal for what Runs of earlier versions have left. */
export function comparedWarehouse(name: string): string {
	return withLock(name, "comparedLock");
}

/** Such a name as tables are owned by: equal for two users of one server. */
export function sharedWarehouse(name: string): string {
	return withLock(name, "sharedLock");
}

function withLock(name: string, form: "comparedLock" | "sharedLock"): string {
	const [type = ""] = name.split(":", 1);
	const lock = warehouses.get(type)?.[form]?.(name.slice(type.length + 1));
	return lock === undefined ? name : `${type}:${lock}`;
}

export function isSameTable(a: LoadedTable, b: LoadedTable): boolean {
	return (
		a.table === b.table &&
		comparedWarehouse(a.destination) === comparedWarehouse(b.destination)
	);
}

type LoadedTable = Pick<Layout, "destination" | "table">;

/** The options that a Pipeline's table shall have in a type of warehouse. */
export function tableOptionsOf(
	{ spec: { table } }: Pipeline,
	type: string,
): { description?: string } | undefined {
	const { member = "" } = warehouses.get(type) ?? {};
	return (table as unknown as Record<string, object>)[member];
}

/** Those of them that a table beside it can have, which has other columns and which people describe less. */
export function otherTableOptionsOf(pipeline: Pipeline, type: string) {
	const { optionsOfColumns = [] } = warehouses.get(type) ?? {};
	const options = Object.entries(tableOptionsOf(pipeline, type) ?? {}).filter(
		([name]) => name !== "description" && !optionsOfColumns.includes(name),
	);
	return options.length > 0 ? Object.fromEntries(options) : undefined;
}

/** Why a table can't have the options that the Pipeline wants for it, and what to do about it; undefined if it can. */
export function tableOptionsProblem(
	pipeline: Pipeline,
	{ metadata, spec }: Destination,
	columns: TableColumn[],
): string | undefined {
	for (const [type, definition] of warehouses) {
		const options = tableOptionsOf(pipeline, type);
		if (!options) continue;
		if (type !== spec.type)
			return `Destination "${metadata.name}" is of type ${spec.type}. Remove spec.table.${definition.member}, or change spec.destinationRef.name.`;
		return definition.tableProblem?.(options, columns);
	}
	return undefined;
}
