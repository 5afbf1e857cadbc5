import githubSchema from "@octokit/webhooks-schemas/schema.json" with {
	type: "json",
};
import type {
	EventSchema,
	PlanDocument,
} from "../../../packages/contracts/tracking-plan.ts";
import { githubExamples } from "../../../test/support/examples/github-payloads.ts";

const $schema = githubSchema.$schema;
const types = githubSchema.oneOf.map(({ $ref }) =>
	$ref.replace("#/definitions/", ""),
);

/** The plan of all of GitHub's webhooks (@octokit/webhooks-schemas). A header names the type. */
export const githubPlan: PlanDocument = {
	version: 1,
	account: "shop",
	plan: "github",
	eventType: { header: "x-github-event" },
	common: { $schema, definitions: githubSchema.definitions },
	events: types.map((name) => ({
		type: name.replace(/[_$]event$/, ""),
		schema: { $schema, $ref: `plan:/common#/definitions/${name}` },
	})),
	onUnplannedEvent: "Annotate",
	onViolation: "Annotate",
	onUnplannedProperty: "Annotate",
};

/** The schema of all of GitHub's webhooks, and the reference to a type's in it. */
export const githubWebhooks = {
	schema: githubSchema as EventSchema & object,
	refOf: (type: string) =>
		`#/definitions/${types.find((name) => name.replace(/[_$]event$/, "") === type)}`,
};

export interface GithubEvent {
	type: string;
	body: string;
}

/** The real payloads (@octokit/webhooks-examples) with the types that their header names. */
export function githubEvents(): GithubEvent[] {
	return githubExamples().flatMap(({ name, examples }) =>
		examples.map((value) => ({ type: name, body: JSON.stringify(value) })),
	);
}
