import type { JsonSchema } from "../../crds/json-schema.ts";
import { maxHeadBytes } from "../../packages/contracts/refused-request.ts";
import { eventStates } from "../../packages/contracts/stored-event.ts";

const time = { type: "string", format: "date-time" };

const head = {
	eventId: { description: "The `event_id` of its row.", type: "string" },
	time: { description: "When it was received.", ...time },
	type: {
		description:
			"Its type, as the source's tracking plan has it. Absent without a plan.",
		type: "string",
	},
	kind: {
		description: "What the sender sent.",
		type: "string",
		enum: ["json", "form"],
	},
	bytes: { description: "Size of the body.", type: "integer" },
	state: {
		description:
			"`accepted`: a row of its date. `quarantined`: the tracking plan keeps it apart. `released`: it was kept apart, and is a row now. `imported`: a row of its date, which came with a file.",
		type: "string",
		enum: [...eventStates],
	},
};
const headOfAll = ["eventId", "time", "kind", "bytes", "state"];

const whole = {
	...head,
	source: { description: "Name of the source.", type: "string" },
	trackingPlan: {
		description: "The tracking plan that validated it. Absent without one.",
		type: "string",
	},
	planVersion: { description: "Version of that plan.", type: "string" },
	stage: {
		description:
			"`Buffer`: in NATS, on its way to the bucket. `Bucket`: in an object. Later versions may add values.",
		type: "string",
	},
	frames: {
		description:
			"Where it came in the stream: its own sequence while it is in the buffer, and then the sequences that were archived together. Absent once the objects of its date are compacted.",
		type: "object",
		required: ["stream", "first", "last"],
		properties: {
			stream: { description: "Name of the stream.", type: "string" },
			first: { description: "First sequence.", type: "integer" },
			last: { description: "Last sequence.", type: "integer" },
		},
	},
	object: {
		description: "Key of the object that has it in the bucket.",
		type: "string",
	},
	storedTime: {
		description: "A run whose `snapshotTime` is this or later loads it.",
		...time,
	},
	released: {
		description: "Its release from quarantine. Absent if there was none.",
		type: "object",
		required: ["time", "object"],
		properties: {
			time: { description: "When it was released.", ...time },
			object: {
				description: "Key of the object that has its row since.",
				type: "string",
			},
		},
	},
};
const violationKind = { description: "What is wrong.", type: "string" };
const wholeOfAll = [...headOfAll, "source", "stage", "storedTime"];

/** The answers about stored events. */
export const eventSchemas: Record<string, JsonSchema> = {
	EventList: {
		description:
			"Events, the newest first. Imported ones may come some pages after others of their date. A page may have fewer events than asked for, and even none, as long as there is a cursor: a search through many events ends after some seconds.",
		type: "object",
		required: ["items"],
		properties: {
			items: {
				type: "array",
				items: {
					type: "object",
					required: headOfAll,
					properties: {
						...head,
						violations: {
							description:
								"How it deviates from its tracking plan. Absent if it doesn't.",
							type: "array",
							items: { type: "string" },
						},
					},
				},
			},
			cursor: {
				description: "Leads to the next page. Absent on the last one.",
				type: "string",
			},
		},
	},
	Event: {
		description: "An event, and where it is.",
		type: "object",
		required: wholeOfAll,
		properties: {
			...whole,
			violations: {
				description:
					"How it deviates from the plan: with `?body=true` where and how, else each kind once. Absent if it doesn't.",
				type: "array",
				items: {
					type: "object",
					required: ["kind"],
					properties: {
						kind: violationKind,
						path: {
							description:
								"JSON Pointer into the body; empty for all of it. Only with `?body=true`.",
							type: "string",
						},
						message: {
							description: "What was expected there. Only with `?body=true`.",
							type: "string",
						},
					},
				},
			},
			otherViolations: {
				description:
					"How many violations there are beside these. Only with `?body=true`.",
				type: "integer",
			},
			body: {
				description:
					"Its body as JSON text, unchanged. Only with `?body=true`.",
				type: "string",
			},
			headers: {
				description: "The captured headers. Only with `?body=true`.",
				type: "object",
				additionalProperties: { type: "string" },
			},
			queryParameters: {
				description: "The captured query parameters. Only with `?body=true`.",
				type: "object",
				additionalProperties: { type: "string" },
			},
		},
	},
	EventReceipt: {
		description: "An event, where it is, and which runs loaded it.",
		type: "object",
		required: wholeOfAll,
		properties: {
			...whole,
			violations: {
				description:
					"How it deviates from the plan, each kind once. Absent if it doesn't.",
				type: "array",
				items: {
					type: "object",
					required: ["kind"],
					properties: { kind: violationKind },
				},
			},
			loads: {
				description:
					"What each pipeline of the source did with it. Absent if you may not see pipelines or runs.",
				type: "array",
				items: {
					type: "object",
					required: ["pipeline", "table", "state"],
					properties: {
						pipeline: { description: "Name of the pipeline.", type: "string" },
						table: { description: "Name of the table.", type: "string" },
						state: {
							description:
								"`Loaded`: the table has it. `Waiting`: the next run loads it. `Held`: it is in quarantine. `Excluded`: its date is none of the pipeline's. Later versions may add values.",
							type: "string",
						},
						partition: {
							description:
								"The table's partition. Absent for a table without partitions.",
							type: "string",
							format: "date",
						},
						run: {
							description:
								"The latest run that loaded it. Absent if the pipeline has removed that run.",
							type: "string",
						},
						loadedTime: { description: "When that run ended.", ...time },
						firstRun: {
							description: "The first such run that is still there.",
							type: "string",
						},
						loadedBefore: {
							description:
								"Of a run that is removed: the table has had the event since this time at the latest.",
							...time,
						},
						nextRunTime: {
							description: "When the schedule starts the next run.",
							...time,
						},
					},
				},
			},
		},
	},
};

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

const text = (description: string) => ({ description, type: "string" });
const count = (description: string) => ({
	description,
	type: "integer",
	minimum: 0,
});

/** The bodies of the endpoints for refused requests. */
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
