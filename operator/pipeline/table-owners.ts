import type {
	Destination,
	Layout,
	Pipeline,
	PipelineAdoptedTable,
	PipelineLastSuccess,
} from "../../crds/generated/types.ts";
import { ageOf } from "../../packages/kube/resource.ts";
import { type Informers, tableKeyOf } from "../reconcile/informers.ts";
import { isSameTable, sharedWarehouse, warehouseNameOf } from "./warehouse.ts";

export interface TableOwner {
	pipeline: Pipeline;
	destination: Destination;
	/** The name as the Pipeline that asks writes it. */
	table: string;
}

type Claim = Omit<TableOwner, "table">;

/**
 * Who has which table: of the Pipelines into one table of one warehouse, the oldest. Remembers what it has read, so that
 * asking for a thousand Pipelines of one table takes one look at them. For one reconcile: it hears of no changes.
 */
export class TableOwners {
	readonly #informers: Pick<Informers, "pipelines" | "destinations">;
	/** By table, then by warehouse. */
	readonly #known = new Map<string, Map<string, Claim>>();

	constructor(informers: Pick<Informers, "pipelines" | "destinations">) {
		this.#informers = informers;
	}

	/** Who has one of the Pipeline's tables: another Pipeline if there is one. Undefined if the Pipeline's Destination doesn't exist. */
	of(pipeline: Pipeline): TableOwner | undefined {
		const destination = this.#destinationOf(pipeline);
		if (!destination) return undefined;
		let found: TableOwner | undefined;
		for (const { name, key } of this.#informers.pipelines.tablesOf(pipeline)) {
			const owners = this.#known.get(key) ?? this.#read(key);
			this.#known.set(key, owners);
			const owner = owners.get(ownedIn(pipeline, destination, name));
			if (!owner) continue;
			found = { ...owner, table: name };
			if (owner.pipeline.metadata.uid !== pipeline.metadata.uid) break;
		}
		return found;
	}

	/** Whether another Pipeline has a table of the name in the Pipeline's warehouse. */
	isTaken(pipeline: Pipeline, table: string): boolean {
		const { namespace, uid } = pipeline.metadata;
		const destination = this.#destinationOf(pipeline);
		const { intoTable } = this.#informers.pipelines;
		return intoTable(tableKeyOf(namespace!, table)).some((other) => {
			const into = this.#destinationOf(other);
			return (
				other.metadata.uid !== uid &&
				destination !== undefined &&
				into !== undefined &&
				ownedIn(other, into, table) === ownedIn(pipeline, destination, table)
			);
		});
	}

	#read(key: string): Map<string, Claim> {
		const { intoTable, tablesOf } = this.#informers.pipelines;
		const owners = new Map<string, Claim>();
		for (const pipeline of intoTable(key)) {
			const destination = this.#destinationOf(pipeline);
			if (pipeline.metadata.deletionTimestamp || !destination) continue;
			const { name } = tablesOf(pipeline).find((table) => table.key === key)!;
			const warehouse = ownedIn(pipeline, destination, name);
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

function ownedIn(...of: Parameters<typeof warehouseNameOf>): string {
	return sharedWarehouse(warehouseNameOf(...of));
}

/**
 * Whether Runs may take over a table that isn't the Pipeline's. Who leaves `spec.table.adopt` in the spec has said so of the
 * table as it was then, and not of one that somebody else takes later.
 */
export function mayAdopt(
	{ spec, status }: Pick<Pipeline, "spec" | "status">,
	layout: Pick<Layout, "destination" | "table">,
): boolean {
	const used = status?.adoptedTable;
	const isUsedUp = used !== undefined && isSameTable(used, layout);
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
