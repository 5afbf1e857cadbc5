import type { SchemaObject } from "../../crds/json-schema.ts";
import { maxHeadBytes } from "../../packages/contracts/refused-request.ts";
import { eventStates } from "../../packages/contracts/stored-event.ts";
import { flag, integer, text, time } from "./fields.ts";

const head = {
	eventId: text("The `event_id` of its row."),
	time: time("When it was received."),
	type: text(
		"Its type, as the source's tracking plan has it. Absent without a plan.",
	),
	kind: {
		description: "What the sender sent.",
		type: "string",
		enum: ["json", "form"],
	},
	bytes: integer("Size of the body."),
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
	source: text("Name of the source."),
	trackingPlan: text(
		"The tracking plan that validated it. Absent without one.",
	),
	planVersion: text("Version of that plan."),
	stage: text(
		"`Buffer`: in NATS, on its way to the bucket. `Bucket`: in an object. Later versions may add values.",
	),
	frames: {
		description:
			"Where it came in the stream: its own sequence while it is in the buffer, and then the sequences that were archived together. Absent once the objects of its date are compacted.",
		type: "object",
		required: ["stream", "first", "last"],
		properties: {
			stream: text("Name of the stream."),
			first: integer("First sequence."),
			last: integer("Last sequence."),
		},
	},
	object: text("Key of the object that has it in the bucket."),
	storedTime: time("A run whose `snapshotTime` is this or later loads it."),
	released: {
		description: "Its release from quarantine. Absent if there was none.",
		type: "object",
		required: ["time", "object"],
		properties: {
			time: time("When it was released."),
			object: text("Key of the object that has its row since."),
		},
	},
};
const violationKind = text("What is wrong.");
const wholeOfAll = [...headOfAll, "source", "stage", "storedTime"];

/** The answers about stored events. */
export const eventSchemas: Record<string, SchemaObject> = {
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
			cursor: text("Leads to the next page. Absent on the last one."),
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
						path: text(
							"JSON Pointer into the body; empty for all of it. Only with `?body=true`.",
						),
						message: text("What was expected there. Only with `?body=true`."),
					},
				},
			},
			otherViolations: integer(
				"How many violations there are beside these. Only with `?body=true`.",
			),
			body: text("Its body as JSON text, unchanged. Only with `?body=true`."),
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
						pipeline: text("Name of the pipeline."),
						table: text("Name of the table."),
						state: text(
							"`Loaded`: the table has it. `Waiting`: the next run loads it. `Held`: it is in quarantine. `Excluded`: its date is none of the pipeline's. Later versions may add values.",
						),
						partition: {
							description:
								"The table's partition. Absent for a table without partitions.",
							type: "string",
							format: "date",
						},
						run: text(
							"The latest run that loaded it. Absent if the pipeline has removed that run.",
						),
						loadedTime: time("When that run ended."),
						firstRun: text("The first such run that is still there."),
						loadedBefore: time(
							"Of a run that is removed: the table has had the event since this time at the latest.",
						),
						nextRunTime: time("When the schedule starts the next run."),
					},
				},
			},
		},
	},
};

/** The bodies of a test event. */
export const testEventSchemas: Record<string, SchemaObject> = {
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
			name: text("Name of the source."),
			accepted: flag("Whether the event is stored."),
			httpStatus: integer("The HTTP status."),
			eventId: text("The `event_id` of its row. Absent if it isn't stored."),
			error: {
				description: "Why it isn't stored.",
				type: "object",
				properties: {
					code: text("The error's code."),
					message: text("What is wrong."),
				},
			},
		},
	},
};

const count = (description: string) => ({
	description,
	type: "integer",
	minimum: 0,
});

/** The bodies of the endpoints for refused requests. */
export const refusedSchemas: Record<string, SchemaObject> = {
	RefusedRequest: {
		description:
			"A request that a source refused, without what can be a credential.",
		type: "object",
		required: ["time", "status", "code", "message", "method", "headerNames"],
		properties: {
			time: time("When it was answered."),
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
			otherViolations: integer(
				"How many violations there are beside these. Only with `body=true`.",
			),
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
