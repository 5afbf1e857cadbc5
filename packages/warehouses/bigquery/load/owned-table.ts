import { isDeepStrictEqual } from "node:util";
import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import { JobFailure } from "../../load/failure.ts";
import {
	believed,
	isSuperseded,
	type markDuring,
	ownerOf,
	pipelineOf,
	sourceKeyOf,
} from "../../load/table-mark.ts";
import type { WarehouseContext } from "../../load/warehouse.ts";
import type { BigQueryDataset } from "./dataset.ts";
import { bigQueryUse } from "./plan.ts";
import { BigQueryFailure, type BigQueryTable } from "./rest/google-refusal.ts";
import { describedFields, labelsOf, markFor, markOf } from "./schema.ts";
import { optionChanges, taggedColumns } from "./table-options.ts";

/**
 * The table that a Run writes to. Throws {@link JobFailure} for a table that it must not write to: before it has marked the
 * table, all that {@link useOf} refuses; then TableNotOurs or Superseded once somebody else has marked it.
 */
export class OwnedTable {
	readonly #dataset: BigQueryDataset;
	readonly #input: LoadInput;
	readonly #manifest: Manifest;
	readonly #log: WarehouseContext["log"];
	#isMarked = false;

	constructor(
		dataset: BigQueryDataset,
		input: LoadInput,
		manifest: Manifest,
		{ log }: Pick<WarehouseContext, "log">,
	) {
		this.#dataset = dataset;
		this.#input = input;
		this.#manifest = manifest;
		this.#log = log;
	}

	/** Undefined if there is no such table. */
	find(): Promise<BigQueryTable | undefined> {
		return this.#dataset.findTable(this.#input.table.name);
	}

	/**
	 * Marks the table as this Run's. Returns it as it was before.
	 * @param isKept sets the options that the table lacks, too. One that isn't kept still has the rows of its former Source.
	 */
	async mark(next: typeof markDuring, isKept = true): Promise<BigQueryTable> {
		for (;;) {
			const table = await this.current();
			const left = markOf(table);
			const before = believed(left, this.#input);
			const isOurs = this.#ownerOf(table) === "Ours";
			const filledFrom = left && sourceKeyOf(left);
			const mark = {
				...next(
					isOurs ? before : undefined,
					this.#manifest,
					pipelineOf(this.#input),
				),
				...(!isKept && filledFrom !== undefined && { sourceKey: filledFrom }),
			};
			const options = isKept ? optionChanges(table, this.#input) : {};
			const { columns } = this.#input.table;
			// Who may not set policy tags may not write a schema that has some.
			const fields =
				isKept && taggedColumns(table).length === 0
					? describedFields(table, columns)
					: undefined;
			const changed = [
				...Object.keys(options),
				...(fields ? ["descriptions of columns"] : []),
			];
			const isSame = changed.length === 0 && isDeepStrictEqual(mark, left);
			const changes = {
				...options,
				...(fields && { schema: { fields } }),
				labels: { ...options.labels, ...labelsOf(mark) },
			};
			const { name } = this.#input.table;
			if (changed.length > 0)
				this.#log.info({ changed }, `setting options of table ${name}`);
			if (
				isSame ||
				(await this.#dataset.patchTable(name, changes, table.etag))
			) {
				this.#isMarked = true;
				return table;
			}
		}
	}

	/**
	 * The current table, read before each change: a process that was paused until its successor had finished finds the
	 * successor's labels here. BigQuery has no fence between this read and the next request (docs/bigquery.md).
	 */
	async current(): Promise<BigQueryTable> {
		const { name } = this.#input.table;
		const table = await this.find();
		if (!table)
			throw new BigQueryFailure(
				"BigQueryUnavailable",
				`Table ${name} was deleted during the load`,
			);
		if (!this.#isMarked) {
			bigQueryUse(this.#input, this.#manifest, table);
			return table;
		}
		if (this.#ownerOf(table) === "Other")
			throw new JobFailure(
				"TableNotOurs",
				`Table ${name} is not this Pipeline's any more: somebody changed its mark during the load, which stopped`,
			);
		const mark = markOf(table);
		if (isSuperseded(mark, this.#manifest))
			throw new JobFailure(
				"Superseded",
				`Table ${name} has the data of Run uid ${mark.run}, whose snapshot is later`,
			);
		return table;
	}
	#ownerOf(table: BigQueryTable): ReturnType<typeof ownerOf> {
		const mark = markFor(table, this.#input);
		return ownerOf(mark, this.#input, this.#manifest);
	}
}
