import type { Operation } from "../http/endpoint.ts";
import { listExportFiles } from "../events/export-files.ts";

/** The operations on Exports. */
export const exportOperations: Operation[] = [
	{
		id: "listExportFiles",
		method: "GET",
		path: "/v1/operations/{name}/files",
		summary: "List the files of an export, with links to download them",
		tag: "operations",
		handler: listExportFiles,
		query: ["cursor"],
		answers: {
			200: {
				about: "Files by date, and until when their links work.",
				schema: "ExportFileList",
			},
		},
		errors: [409],
	},
];
