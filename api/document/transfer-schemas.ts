import type { SchemaObject } from "../../crds/json-schema.ts";
import {
	maxImportFiles,
	maxUploadBytes,
} from "../../packages/contracts/transfer.ts";
import { text, time } from "./fields.ts";

const count = (description: string) => ({
	description,
	type: "integer",
	minimum: 0,
});

/** The bodies of the endpoints for exports. */
export const exportSchemas: Record<string, SchemaObject> = {
	ExportFile: {
		description: "A Parquet file with events of one date.",
		type: "object",
		required: ["date", "name", "events", "bytes", "url"],
		properties: {
			date: {
				description: "The UTC date of the events.",
				type: "string",
				format: "date",
			},
			name: text("A name for the file, unique in the export."),
			events: count("How many events it holds."),
			bytes: count("Its size."),
			url: text(
				"Where to GET it, without a token. A secret: it gives the events to anybody.",
			),
		},
	},
	ExportFileList: {
		description: "A page of an export's files.",
		type: "object",
		required: ["items", "expiresAt"],
		properties: {
			items: {
				description: "The files by date.",
				type: "array",
				items: { $ref: "#/components/schemas/ExportFile" },
			},
			cursor: text("Where the next page begins. Absent on the last page."),
			expiresAt: time("Until when the links work. Ask again for new ones."),
		},
	},
};

const sha256 = {
	description: "SHA-256 of the file's content, 64 hex digits.",
	type: "string",
	pattern: "^[0-9a-f]{64}$",
};

/** The bodies of the endpoints for imports. */
export const importSchemas: Record<string, SchemaObject> = {
	UploadCreate: {
		description: "Files to upload. They stay for three days.",
		type: "object",
		required: ["files"],
		additionalProperties: false,
		properties: {
			files: {
				description: "The files.",
				type: "array",
				minItems: 1,
				maxItems: maxImportFiles,
				items: {
					type: "object",
					required: ["sha256", "bytes"],
					additionalProperties: false,
					properties: {
						sha256,
						bytes: {
							description: "Its size.",
							type: "integer",
							minimum: 1,
							maximum: maxUploadBytes,
						},
					},
				},
			},
		},
		example: { files: [{ sha256: "0".repeat(64), bytes: 1000 }] },
	},
	UploadList: {
		description: "Where the files go, in the order of the request.",
		type: "object",
		required: ["items", "expiresAt"],
		properties: {
			items: {
				description: "The files.",
				type: "array",
				items: {
					type: "object",
					required: ["sha256"],
					properties: {
						sha256,
						url: text(
							"Where to PUT the file, without a token. Absent if the file is there already. A secret.",
						),
						headers: {
							description: "Headers that the PUT needs.",
							type: "object",
							additionalProperties: { type: "string" },
						},
					},
				},
			},
			expiresAt: time("Until when the links work. Ask again for new ones."),
		},
	},
};
