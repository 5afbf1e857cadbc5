import type { JsonSchema } from "../../crds/json-schema.ts";

/** The bodies of a test event. */
export const testEventSchemas: Record<string, JsonSchema> = {
	TestEvent: {
		description: "The event. If it is empty, a small one is sent.",
		type: "object",
		additionalProperties: true,
		examples: [{}, { type: "order.paid", order: 1 }],
	},
	TestEventResult: {
		description: "What the sender of the event gets.",
		type: "object",
		required: ["name", "accepted", "httpStatus"],
		properties: {
			name: { description: "Name of the source.", type: "string" },
			accepted: {
				description: "Whether the event is stored.",
				type: "boolean",
			},
			httpStatus: { description: "The HTTP status.", type: "integer" },
			eventId: {
				description: "The `event_id` of its row. Absent if it isn't stored.",
				type: "string",
			},
			error: {
				description: "Why it isn't stored.",
				type: "object",
				properties: {
					code: { description: "The error's code.", type: "string" },
					message: { description: "What is wrong.", type: "string" },
				},
			},
		},
	},
};
