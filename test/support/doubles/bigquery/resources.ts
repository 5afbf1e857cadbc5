// Types that Google generates from its description of the API: the double answers nothing else.
import type google from "@google-cloud/bigquery/build/src/types.d.ts";
import type {
	BigQueryJob,
	BigQueryTable,
} from "../../../../packages/warehouses/bigquery/load/rest/google-refusal.ts";

/** What answers say beside what was asked for. */
export function datasetResource(
	projectId: string,
	datasetId: string,
	location: string,
): google.default.IDataset {
	return {
		kind: "bigquery#dataset",
		id: `${projectId}:${datasetId}`,
		datasetReference: { projectId, datasetId },
		location,
	};
}

export function tableResource(table: BigQueryTable): google.default.ITable {
	const { projectId, datasetId, tableId } = table.tableReference;
	const { expirationTime, ...rest } = table;
	return {
		kind: "bigquery#table",
		id: `${projectId}:${datasetId}.${tableId}`,
		...rest,
		...(expirationTime != null && { expirationTime }),
	};
}

export function jobResource(job: BigQueryJob): google.default.IJob {
	const { projectId, location, jobId } = job.jobReference;
	return {
		kind: "bigquery#job",
		id: `${projectId}:${location}.${jobId}`,
		...job,
	};
}
