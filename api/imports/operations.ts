import type { Operation } from "../http/endpoint.ts";
import { createUploads } from "./uploads.ts";

/** The operations for Imports. */
export const importOperations: Operation[] = [
	{
		id: "createUploads",
		method: "POST",
		path: "/v1/uploads",
		summary: "Get links to upload files for an import",
		tag: "operations",
		handler: createUploads,
		body: { schema: "UploadCreate", isRequired: true },
		answers: {
			200: {
				about: "A link for each file that isn't there yet.",
				schema: "UploadList",
			},
		},
		errors: [409, 413, 415],
	},
];
