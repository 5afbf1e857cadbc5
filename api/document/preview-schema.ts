import type { JsonSchema } from "../../crds/json-schema.ts";

const date = { type: "string", format: "date" };

/** The answer of a preview. */
export const previewSchema: JsonSchema = {
	description:
		"When a pipeline runs next, and what a run that starts now loads. If the table, the columns or the source have changed since the last run, it loads all dates of the pipeline instead.",
	type: "object",
	required: ["name", "nextRuns", "table", "strategy"],
	properties: {
		name: { description: "Name of the pipeline.", type: "string" },
		nextRuns: {
			description:
				"The next five times of the schedule. None if it is manual or suspended.",
			type: "array",
			items: { type: "string", format: "date-time" },
		},
		table: { description: "Name of the table.", type: "string" },
		strategy: {
			description:
				"`Incremental`: a run replaces the days that it loads. `FullReload`: it replaces the whole table.",
			type: "string",
		},
		dates: {
			description:
				"The UTC dates, both included. Those before the source's first event have nothing. Absent if there is none.",
			type: "object",
			required: ["start", "end"],
			properties: { start: date, end: date },
		},
	},
};
