import {
	maxUnfitColumns,
	type TableColumn,
	type UnfitValues,
} from "../../../contracts/job.ts";
import { quoteName } from "../../duckdb/quoting.ts";
import type { Session } from "../../duckdb/session.ts";
import type { LoadDay } from "../fetch/load-days.ts";
import { bodyColumnsOf, bodyValueSql, eventRows } from "./body-value.ts";

/** How many values of the body don't fit their columns, and are NULL there. */
export class UnfitCount {
	readonly #columns: TableColumn[];
	readonly #rows = new Map<string, number>();

	constructor(columns: TableColumn[]) {
		this.#columns = columns;
	}

	async add({ objects }: LoadDay, session: Session): Promise<void> {
		const columns = bodyColumnsOf(this.#columns);
		if (columns.length === 0 || objects.length === 0) return;
		const counts = columns.map(({ name, from }, number) => {
			const { isUnfit } = bodyValueSql(from, number);
			return `count(*) FILTER (${isUnfit}) AS ${quoteName(name)}`;
		});
		const files = objects.map(({ file }) => file);
		const [found = {}] = await session.rows<Record<string, bigint>>(
			`SELECT ${counts.join(", ")} FROM ${eventRows(files, columns)}`,
		);
		for (const [name, rows] of Object.entries(found))
			this.#rows.set(name, (this.#rows.get(name) ?? 0) + Number(rows));
	}

	/** For a Job's result: the columns with such values. */
	list(): UnfitValues[] {
		return [...this.#rows]
			.map(([column, rows]) => ({ column, rows }))
			.filter(({ rows }) => rows > 0)
			.sort((a, b) => b.rows - a.rows)
			.slice(0, maxUnfitColumns);
	}
}
