import type { SchemaObject } from "../../crds/json-schema.ts";
import { sha256, uploadCreate } from "../events/upload-body.ts";
import {
	count,
	date,
	list,
	object,
	schemaRef,
	text,
	texts,
	time,
} from "./fields.ts";

/** The bodies of the endpoints for exports. */
export const exportSchemas: Record<string, SchemaObject> = {
	ExportFile: object("A Parquet file with events of one date.", {
		date: date("The UTC date of the events."),
		name: text("A name for the file, unique in the export."),
		events: count("How many events it holds."),
		bytes: count("Its size."),
		url: text(
			"Where to GET it, without a token. A secret: it gives the events to anybody.",
		),
	}),
	ExportFileList: object("A page of an export's files.", {
		items: list("The files by date.", schemaRef("ExportFile")),
		"cursor?": text("Where the next page begins. Absent on the last page."),
		expiresAt: time("Until when the links work. Ask again for new ones."),
	}),
};

/** The bodies of the endpoints for imports. */
export const importSchemas: Record<string, SchemaObject> = {
	UploadCreate: uploadCreate,
	UploadList: object("Where the files go, in the order of the request.", {
		items: list(
			"The files.",
			object(undefined, {
				sha256,
				"url?": text(
					"Where to PUT the file, without a token. Absent if the file is there already. A secret.",
				),
				"headers?": texts("Headers that the PUT needs."),
			}),
		),
		expiresAt: time("Until when the links work. Ask again for new ones."),
	}),
};
