import type { SchemaObject } from "../../crds/json-schema.ts";
import { resourceNamePattern } from "../resources/resource-body.ts";
import { maxSeconds, minSeconds, tokenScopes } from "../resources/token.ts";
import { choice, integer, object, text, time } from "./fields.ts";

const scope = choice(
	"What the token permits in its account. `read`: see everything. `run`: see pipelines; start, follow and cancel their runs. `edit`: change everything.",
	Object.keys(tokenScopes),
);

const fields = {
	name: text("Name of the token."),
	id: text("Never reused."),
	createTime: time("When it was created."),
	scope: choice(
		`${scope.description} \`custom\`: somebody bound another role by hand.`,
		[...scope.enum, "custom"],
	),
	"expireTime?": time(
		"When it expires. The cluster may allow less time than was asked for. Absent if it never does (`tidemill tokens create --long-lived`).",
	),
	status: choice("Whether it has expired.", ["Active", "Expired"]),
};

/** The bodies of the endpoints for tokens. */
export const tokenSchemas: Record<string, SchemaObject> = {
	Token: object(
		"A token of this API. It is a token of a Kubernetes service account of its own.",
		fields,
	),
	IssuedToken: object("A new token.", {
		...fields,
		"token?": text(
			"The token itself. No other answer has it, nor has that to a repeated request with the same Idempotency-Key.",
		),
	}),
	TokenCreate: object(
		"A token to create.",
		{
			name: text("Name of the token. It can't change.", {
				pattern: resourceNamePattern,
			}),
			scope,
			"expiresInSeconds?": integer(
				"For how long it is valid; 30 days if absent.",
				{ minimum: minSeconds, maximum: maxSeconds },
			),
		},
		{
			additionalProperties: false,
			examples: [
				{ name: "orchestrator", scope: "run", expiresInSeconds: 7_776_000 },
			],
		},
	),
};
