import { isDeepStrictEqual } from "node:util";
import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import { JobFailure } from "../../job/errors.ts";
import type { JobContext } from "../../job/process.ts";
import { type markDuring, ownershipOf } from "../destination/table-mark.ts";
import type { BigQueryDataset } from "./dataset.ts";
import type { Table } from "./rest/api.ts";
import { labelsOf, markOf } from "./table-labels.ts";
import { optionChanges } from "./table-options.ts";

/** The table that a Run writes to. Throws {@link JobFailure} Superseded once a Run with a later snapshot owns it. */
export class OwnedTable {
	readonly #dataset: BigQueryDataset;
	readonly #input: LoadInput;
	readonly #manifest: Manifest;
	readonly #log: JobContext["log"];

	constructor(
		dataset: BigQueryDataset,
		input: LoadInput,
		manifest: Manifest,
		{ log }: Pick<JobContext, "log">,
	) {
		this.#dataset = dataset;
		this.#input = input;
		this.#manifest = manifest;
		this.#log = log;
	}

	/**
	 * Marks the table as this Run's, unless a Run with a later snapshot owns it. Returns it as it was before.
	 * @param isKept sets the options that the table lacks, too.
	 */
	async mark(next: typeof markDuring, isKept = true): Promise<Table> {
		for (;;) {
			const table = await this.current();
			const before = markOf(table);
			const mark = next(before, this.#manifest);
			const options = isKept ? optionChanges(table, this.#input) : {};
			const changed = Object.keys(options);
			if (changed.length === 0 && isDeepStrictEqual(mark, before)) return table;
			const changes = {
				...options,
				labels: { ...options.labels, ...labelsOf(mark) },
			};
			const { name } = this.#input.table;
			if (changed.length > 0)
				this.#log.info({ changed }, `setting options of table ${name}`);
			if (await this.#dataset.patchTable(name, changes, table.etag))
				return table;
		}
	}

	/**
	 * The current table, read before each change: a process that was paused until its successor had finished finds the
	 * successor's labels here. BigQuery has no fence between this read and the next request (docs/bigquery.md).
	 */
	async current(): Promise<Table> {
		const { name } = this.#input.table;
		const table = await this.#dataset.findTable(name);
		if (!table)
			throw new JobFailure(
				"BigQueryUnavailable",
				`Table ${name} was deleted during the load`,
			);
		const mark = markOf(table);
		if (ownershipOf(mark, this.#manifest) === "theirs")
			throw new JobFailure(
				"Superseded",
				`Table ${name} has the data of Run uid ${mark!.run}, whose snapshot is later`,
			);
		return table;
	}
}
