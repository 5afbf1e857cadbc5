import type { JsonSchema } from "../../crds/json-schema.ts";

const text = (description: string) => ({ description, type: "string" });
const count = (description: string) => ({
	description,
	type: "integer",
	minimum: 0,
});

/** The bodies of the operations on exports. */
export const exportSchemas: Record<string, JsonSchema> = {
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
			expiresAt: {
				description: "Until when the links work. Ask again for new ones.",
				type: "string",
				format: "date-time",
			},
		},
	},
};
