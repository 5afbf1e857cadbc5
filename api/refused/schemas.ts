import type { JsonSchema } from "../../crds/json-schema.ts";
import { maxHeadBytes } from "../../packages/contracts/live/refused-request.ts";

const text = (description: string) => ({ description, type: "string" });
const count = (description: string) => ({
	description,
	type: "integer",
	minimum: 0,
});

/** The bodies of the operations on refused requests. */
export const refusedSchemas: Record<string, JsonSchema> = {
	RefusedRequest: {
		description:
			"A request that a source refused, without what can be a credential.",
		type: "object",
		required: ["time", "status", "code", "message", "method", "headerNames"],
		properties: {
			time: {
				description: "When it was answered.",
				type: "string",
				format: "date-time",
			},
			status: count("HTTP status of the answer."),
			code: text("Why it was refused, for programs."),
			message: text("What is wrong and what to do about it."),
			method: text("HTTP method."),
			contentType: text("Its `Content-Type`."),
			userAgent: text("Its `User-Agent`."),
			bytes: count(
				"Size of the body: as the sender announced it, or as much as arrived.",
			),
			headerNames: {
				description: "Names of its headers. Only the first, if it has many.",
				type: "array",
				items: { type: "string" },
			},
			leftOut: count(
				"How many of the source's requests were refused since the one before and aren't listed.",
			),
			bodyHead: text(
				`The beginning of the body, at most ${maxHeadBytes} bytes. Only with \`body=true\`, and if an uncompressed body was read. None of a request with more than 32 headers or parameters that may be credentials.`,
			),
			violations: {
				description:
					"How the event violates the tracking plan. Only with `body=true`.",
				type: "array",
				items: { type: "object" },
			},
			otherViolations: {
				description:
					"How many violations there are beside these. Only with `body=true`.",
				type: "integer",
			},
		},
	},
	RefusedRequestList: {
		description: "Refused requests, newest first.",
		type: "object",
		required: ["items"],
		properties: {
			items: {
				type: "array",
				items: { $ref: "#/components/schemas/RefusedRequest" },
			},
		},
	},
};
