import type { SchemaObject } from "../../crds/json-schema.ts";
import { resourceNamePattern } from "../resources/resource-body.ts";
import { maxSeconds, minSeconds, tokenScopes } from "../resources/token.ts";
import { text, time } from "./fields.ts";

const scope = {
	description:
		"What the token permits in its account. `read`: see everything. `run`: see pipelines; start, follow and cancel their runs. `edit`: change everything.",
	type: "string",
	enum: Object.keys(tokenScopes),
};

const fields = {
	name: text("Name of the token."),
	id: text("Never reused."),
	createTime: time("When it was created."),
	scope: {
		description: `${scope.description} \`custom\`: somebody bound another role by hand.`,
		type: "string",
		enum: [...scope.enum, "custom"],
	},
	expireTime: time(
		"When it expires. The cluster may allow less time than was asked for. Absent if it never does (`tidemill tokens create --long-lived`).",
	),
	status: {
		description: "Whether it has expired.",
		type: "string",
		enum: ["Active", "Expired"],
	},
};

const required = Object.keys(fields).filter((name) => name !== "expireTime");

/** The bodies of the endpoints for tokens. */
export const tokenSchemas: Record<string, SchemaObject> = {
	Token: {
		description:
			"A token of this API. It is a token of a Kubernetes service account of its own.",
		type: "object",
		required,
		properties: fields,
	},
	IssuedToken: {
		description: "A new token.",
		type: "object",
		required,
		properties: {
			...fields,
			token: text(
				"The token itself. No other answer has it, nor has that to a repeated request with the same Idempotency-Key.",
			),
		},
	},
	TokenCreate: {
		description: "A token to create.",
		type: "object",
		required: ["name", "scope"],
		properties: {
			name: {
				description: "Name of the token. It can't change.",
				type: "string",
				pattern: resourceNamePattern,
			},
			scope,
			expiresInSeconds: {
				description: "For how long it is valid; 30 days if absent.",
				type: "integer",
				minimum: minSeconds,
				maximum: maxSeconds,
			},
		},
		additionalProperties: false,
		examples: [
			{ name: "orchestrator", scope: "run", expiresInSeconds: 7_776_000 },
		],
	},
};
