import type { BigQueryTable } from "../../../packages/warehouses/bigquery/load/rest/google-refusal.ts";

/**
 * What loads of early builds left on a table, as it was in the warehouse. It names no Pipeline. A table that such a load was
 * still filling for the first time names no Source, either.
 */
export function earlyComment(sourceKey: string, words: string): string {
	return `${words}\ntidemill: {"run":"3f1e6a52-0c7b-4a5e-9a43-2f0f5d0b7c11","snapshotMs":1772409600000,"holds":{"sourceKey":"${sourceKey}","through":"2026-03-01"},"record":"4be1c0ffee012345-3f1e6a52-0c7b-4a5e-9a43-2f0f5d0b7c11"}`;
}

export function earlyLabels(sourceKey: string): BigQueryTable["labels"] {
	return {
		"tidemill-run": "3f1e6a52-0c7b-4a5e-9a43-2f0f5d0b7c11",
		"tidemill-snapshot": "1772409600000",
		"tidemill-source": sourceKey,
		"tidemill-through": sourceKey && "2026-03-01",
	} as Record<string, string>;
}
