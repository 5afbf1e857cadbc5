import type { JsonSchema } from "../../crds/json-schema.ts";
import { errorCodes, maxDetails } from "../http/errors.ts";

/** The body of every error. */
export const problemSchema: JsonSchema = {
	description:
		"An error: what is wrong and what to do next, as problem details (RFC 9457).",
	type: "object",
	required: ["type", "title", "status", "detail", "code", "details"],
	properties: {
		type: {
			description: "Where the error is explained.",
			type: "string",
			format: "uri-reference",
		},
		title: { description: "What is wrong, in general.", type: "string" },
		status: { description: "The HTTP status.", type: "integer" },
		detail: {
			description: "What is wrong with this request and what to do next.",
			type: "string",
		},
		instance: {
			description: "The `X-Request-Id`, as a URN.",
			type: "string",
			format: "uri-reference",
		},
		code: {
			description: "For programs. Codes never change.",
			type: "string",
			enum: Object.keys(errorCodes),
		},
		details: {
			description: `All invalid fields, if fields are invalid, ${maxDetails} at most.`,
			type: "array",
			maxItems: maxDetails,
			items: {
				type: "object",
				required: ["path", "message"],
				properties: {
					path: {
						description:
							"A field of the body, such as `dates.start`, or a query parameter or header.",
						type: "string",
					},
					message: { type: "string" },
				},
			},
		},
	},
};
