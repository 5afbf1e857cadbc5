// In make test: packages/tracking-plan/plan-validator.test.ts
import { createRequire } from "node:module";
import { Ajv } from "ajv";
import ajvFormats from "ajv-formats";
import { beforeAll, expect, test } from "vitest";
import type { EventSchema, PlanDocument } from "../contracts/tracking-plan.ts";
import { compilePlan } from "./compile.ts";
import { PlanValidator } from "./plan-validator.ts";

/* A plan made of GitHub's own schemas validates the payloads that GitHub's users have collected. */

const load = createRequire(import.meta.url);
const schema = load("@octokit/webhooks-schemas") as {
	$schema: string;
	definitions: Record<string, EventSchema>;
	oneOf: { $ref: string }[];
};
const examples = load("@octokit/webhooks-examples") as {
	name: string;
	examples: Record<string, unknown>[];
}[];

const typeOf = (definition: string) => definition.replace(/(_|\$)event$/, "");
const definitions = schema.oneOf.map(({ $ref }) => $ref.split("/").pop()!);
const { $schema } = schema;

/** What all share is in `common`, and each type refers to it. */
const plan: PlanDocument = {
	version: 1,
	account: "shop",
	plan: "github",
	eventType: { header: "x-github-event" },
	common: { $schema, definitions: schema.definitions },
	events: definitions.map((definition) => ({
		type: typeOf(definition),
		schema: { $schema, $ref: `common#/definitions/${definition}` },
	})),
	onUnplannedEvent: "Quarantine",
	onViolation: "Reject",
	onUnplannedProperty: "Allow",
};

let validator: PlanValidator;

beforeAll(() => {
	const compiled = compilePlan(plan);
	if ("fault" in compiled) throw new Error(compiled.fault);
	validator = new PlanValidator(plan, compiled.code);
});

test("each payload is validated as its schema says", () => {
	const ajv = new Ajv({ strict: false, logger: false });
	ajvFormats.default(ajv);
	ajv.addSchema(schema, "github");
	const differences: string[] = [];
	let validated = 0;
	for (const { name, examples: bodies } of examples) {
		const definition = definitions.find((each) => typeOf(each) === name);
		for (const [index, body] of bodies.entries()) {
			validated++;
			const { outcome, record } = validator.validate(body, name);
			const isValid = ajv.validate(
				{ $ref: `github#/definitions/${definition}` },
				body,
			);
			const expected = isValid ? "Accept" : "Reject";
			if (outcome !== expected)
				differences.push(`${name} ${index}: ${JSON.stringify(record)}`);
		}
	}
	// None: what RE2, the formats and the metered keywords say is what ajv says.
	expect(differences).toEqual([]);
	expect(validated).toBe(329);
});

test("a deviating payload says what is wrong with it", () => {
	const { examples: [watch] = [] } = examples.find(
		({ name }) => name === "watch",
	)!;
	const { outcome, record } = validator.validate(
		{ ...watch, action: 7, extra: 1 },
		"watch",
	);
	expect(outcome).toBe("Reject");
	expect(record.violations).toEqual(
		expect.arrayContaining([
			{
				kind: "UnplannedProperty",
				path: "/extra",
				message: "is not in the plan",
			},
			{
				kind: "TypeMismatch",
				path: "/action",
				message: "must be string",
			},
			{
				kind: "ValueMismatch",
				path: "/action",
				message: 'must be "started"',
			},
		]),
	);
});
