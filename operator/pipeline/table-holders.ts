import type { Destination, Pipeline } from "../../crds/generated/types.ts";
import { ageOf } from "../../packages/kube/resource.ts";
import type { Informers } from "../reconcile/informers.ts";
import { warehouseNameOf } from "./warehouse.ts";

export interface TableHolder {
	pipeline: Pipeline;
	destination: Destination;
}

/**
 * Who has which table: of the Pipelines into one table of one warehouse, the oldest. Remembers what it has read, so that
 * asking for a thousand Pipelines of one table takes one look at them. For one reconcile: it hears of no changes.
 */
export class TableHolders {
	readonly #informers: Pick<Informers, "pipelines" | "destinations">;
	/** By table, then by warehouse. */
	readonly #known = new Map<string, Map<string, TableHolder>>();

	constructor(informers: Pick<Informers, "pipelines" | "destinations">) {
		this.#informers = informers;
	}

	/** Undefined if the Pipeline's Destination doesn't exist. */
	of(pipeline: Pipeline): TableHolder | undefined {
		const destination = this.#destinationOf(pipeline);
		if (!destination) return undefined;
		const table = this.#informers.pipelines.tableOf(pipeline);
		const holders = this.#known.get(table) ?? this.#read(table);
		this.#known.set(table, holders);
		return holders.get(warehouseNameOf(pipeline, destination));
	}

	#read(table: string): Map<string, TableHolder> {
		const holders = new Map<string, TableHolder>();
		for (const pipeline of this.#informers.pipelines.intoTable(table)) {
			const destination = this.#destinationOf(pipeline);
			if (pipeline.metadata.deletionTimestamp || !destination) continue;
			const warehouse = warehouseNameOf(pipeline, destination);
			const holder = holders.get(warehouse);
			if (!holder || ageOf(pipeline) < ageOf(holder.pipeline))
				holders.set(warehouse, { pipeline, destination });
		}
		return holders;
	}

	#destinationOf({ metadata, spec }: Pipeline): Destination | undefined {
		const { name } = spec.destinationRef;
		const found = this.#informers.destinations.get(metadata.namespace!, name);
		return found?.metadata.deletionTimestamp ? undefined : found;
	}
}
