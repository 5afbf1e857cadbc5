import type {
	Destination,
	Layout,
	Pipeline,
	PipelineAdoptedTable,
	PipelineLastSuccess,
} from "../../crds/generated/types.ts";
import { ageOf } from "../../packages/kube/resource.ts";
import type { Informers } from "../reconcile/informers.ts";
import { warehouseNameOf } from "./warehouse.ts";

export interface TableOwner {
	pipeline: Pipeline;
	destination: Destination;
}

/**
 * Who has which table: of the Pipelines into one table of one warehouse, the oldest. Remembers what it has read, so that
 * asking for a thousand Pipelines of one table takes one look at them. For one reconcile: it hears of no changes.
 */
export class TableOwners {
	readonly #informers: Pick<Informers, "pipelines" | "destinations">;
	/** By table, then by warehouse. */
	readonly #known = new Map<string, Map<string, TableOwner>>();

	constructor(informers: Pick<Informers, "pipelines" | "destinations">) {
		this.#informers = informers;
	}

	/** Undefined if the Pipeline's Destination doesn't exist. */
	of(pipeline: Pipeline): TableOwner | undefined {
		const destination = this.#destinationOf(pipeline);
		if (!destination) return undefined;
		const table = this.#informers.pipelines.tableOf(pipeline);
		const owners = this.#known.get(table) ?? this.#read(table);
		this.#known.set(table, owners);
		return owners.get(warehouseNameOf(pipeline, destination));
	}

	#read(table: string): Map<string, TableOwner> {
		const owners = new Map<string, TableOwner>();
		for (const pipeline of this.#informers.pipelines.intoTable(table)) {
			const destination = this.#destinationOf(pipeline);
			if (pipeline.metadata.deletionTimestamp || !destination) continue;
			const warehouse = warehouseNameOf(pipeline, destination);
			const owner = owners.get(warehouse);
			if (!owner || ageOf(pipeline) < ageOf(owner.pipeline))
				owners.set(warehouse, { pipeline, destination });
		}
		return owners;
	}

	#destinationOf({ metadata, spec }: Pipeline): Destination | undefined {
		const { name } = spec.destinationRef;
		const found = this.#informers.destinations.get(metadata.namespace!, name);
		return found?.metadata.deletionTimestamp ? undefined : found;
	}
}

/**
 * Whether Runs may take over a table that isn't the Pipeline's. Who leaves `spec.table.adopt` in the spec has said so of the
 * table as it was then, and not of one that somebody else takes later.
 */
export function mayAdopt(
	{ spec, status }: Pick<Pipeline, "spec" | "status">,
	{ destination, table }: Pick<Layout, "destination" | "table">,
): boolean {
	const used = status?.adoptedTable;
	const isUsedUp = used?.destination === destination && used.table === table;
	return spec.table.adopt === true && !isUsedUp;
}

/** For which table the field is used up: the first Run that succeeds while it is set has the table. */
export function adoptedTableOf(
	{ spec, status }: Pick<Pipeline, "spec" | "status">,
	lastSuccess: PipelineLastSuccess | undefined,
): PipelineAdoptedTable | undefined {
	if (spec.table.adopt !== true) return undefined;
	const isNew =
		lastSuccess !== undefined &&
		lastSuccess.snapshotTime !== status?.lastSuccess?.snapshotTime;
	if (!isNew) return status?.adoptedTable;
	const { destination, table } = lastSuccess.layout;
	return { destination, table };
}
