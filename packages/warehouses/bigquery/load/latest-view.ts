import type { LoadInput } from "../../../contracts/job.ts";
import { latestSql, viewChange } from "../../load/latest-view.ts";
import type { BigQueryDataset } from "./dataset.ts";
import type { BigQueryTable } from "./rest/api.ts";
import { fieldsOf } from "./schema.ts";
import { label } from "./table-labels.ts";

/**
 * Reads what has the name of the view of a table's latest rows. Returns what changes it once the table is there; undefined if nothing
 * does. Throws what {@link viewChange} throws.
 */
export async function viewChanger(
	input: LoadInput,
	dataset: BigQueryDataset,
): Promise<(() => Promise<unknown>) | undefined> {
	const { name: table, columns, latest } = input.table;
	if (!latest) return undefined;
	const found = await dataset.findTable(latest.name);
	const quote = (name: string) => `\`${name}\``;
	const { all, key, newest } = latestSql(columns, latest, quote);
	const { projectId, datasetId } = dataset.reference(table);
	const query =
		`SELECT ${all} FROM ${quote(`${projectId}.${datasetId}.${table}`)} WHERE TRUE` +
		` QUALIFY ROW_NUMBER() OVER (PARTITION BY ${key} ORDER BY ${newest}) = 1`;
	const change = viewChange(
		input,
		found && {
			kind: (found.type ?? "table").toLowerCase(),
			mark: markOf(found),
		},
		// BigQuery keeps the types of a view's columns.
		[query, fieldsOf(input.table).map(({ type }) => type)],
	);
	if (!change) return undefined;
	const { name } = change;
	if (change.do === "Drop") return () => dataset.deleteTable(name);
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
	return () =>
		found ? dataset.patchTable(name, view) : dataset.createTable(name, view);
}

function markOf({ type, labels = {} }: BigQueryTable) {
	const [namespace, name] = [labels[label.namespace], labels[label.pipeline]];
	const view = labels[label.view];
	return type === "VIEW" && namespace && name && view
		? { pipeline: `${namespace}/${name}`, view }
		: undefined;
}
