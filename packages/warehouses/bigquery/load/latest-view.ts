import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import {
	columnsBetween,
	latestSql,
	rewrittenWords,
	viewChange,
} from "../../load/latest-view.ts";
import type { BigQueryDataset } from "./dataset.ts";
import type { BigQueryTable } from "./rest/api.ts";
import { existingColumns, fieldsOf, wantedColumns } from "./schema.ts";
import { label } from "./table-labels.ts";

/** Changes of the view, before the table's columns change and as soon as they have; undefined for none. */
export interface ViewChanges {
	before?: (() => Promise<unknown>) | undefined;
	after?: (() => Promise<unknown>) | undefined;
	/** See {@link rewrittenWords}. */
	words?: string | undefined;
}

/**
 * Reads what has the name of the view of a table's latest rows.
 * @param replaced The table whose place another takes.
 * Throws what {@link viewChange} throws.
 */
export async function viewChanges(
	input: LoadInput,
	dataset: BigQueryDataset,
	replaced: BigQueryTable | undefined,
): Promise<ViewChanges> {
	const { name: table, columns, latest } = input.table;
	if (!latest) return {};
	const found = await dataset.findTable(latest.name);
	const quote = (name: string) => `\`${name}\``;
	const { projectId, datasetId } = dataset.reference(table);
	const changeTo = (columns: readonly TableColumn[], isStale = false) => {
		const { all, key, newest } = latestSql(columns, latest, quote);
		const query =
			`SELECT ${all} FROM ${quote(`${projectId}.${datasetId}.${table}`)} WHERE TRUE` +
			` QUALIFY ROW_NUMBER() OVER (PARTITION BY ${key} ORDER BY ${newest}) = 1`;
		const change = viewChange(
			input,
			found && {
				kind: (found.type ?? "table").toLowerCase(),
				mark: markOf(found),
				// Labels stay on a view whose query a person changes.
				isAsMade: found.view?.query === query,
			},
			// BigQuery keeps the types of a view's columns.
			[
				query,
				fieldsOf({ ...input.table, columns: [...columns] }).map(
					({ type }) => type,
				),
			],
			isStale,
		);
		if (!change) return undefined;
		const { name } = change;
		if (change.do === "Drop")
			return { carryOut: () => dataset.deleteTable(name) };
		const [namespace, pipeline] = change.mark.pipeline.split("/");
		const view = {
			view: { query, useLegacySql: false as const },
			description: change.words,
			labels: {
				[label.namespace]: namespace!,
				[label.pipeline]: pipeline!,
				[label.view]: change.mark.view,
			},
		};
		const carryOut = () =>
			found ? dataset.patchTable(name, view) : dataset.createTable(name, view);
		return { carryOut, words: rewrittenWords(change) };
	};
	const between =
		found && replaced && latest.by.length > 0
			? columnsBetween(
					input.table,
					existingColumns(replaced),
					wantedColumns(input.table),
				)
			: undefined;
	// A rebuilt table has no rows when it gets its columns. Without a key in common, the view fails until right after that.
	const isBetween = between !== undefined && between !== "NoKey";
	const after = changeTo(columns, isBetween);
	return {
		before: isBetween ? changeTo(between, true)?.carryOut : undefined,
		after: after?.carryOut,
		words: after?.words,
	};
}

function markOf({ type, labels = {} }: BigQueryTable) {
	const [namespace, name] = [labels[label.namespace], labels[label.pipeline]];
	const view = labels[label.view];
	return type === "VIEW" && namespace && name && view
		? { pipeline: `${namespace}/${name}`, view }
		: undefined;
}
