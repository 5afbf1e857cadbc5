// In make test: packages/tracking-plan/plan-validator.test.ts
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { EventSchema, PlanDocument } from "../contracts/tracking-plan.ts";
import { compilePlan } from "./compile.ts";
import { type SchemaException, schemaExceptions } from "./exceptions.ts";
import { PlanValidator } from "./plan-validator.ts";
import { drafts } from "./schemas.ts";

/*
 * The JSON Schema Test Suite (github.com/json-schema-org/JSON-Schema-Test-Suite), as the Python package jsonschema 4.23.0
 * carries it: what a draft requires, the formats, and regular expressions.
 */

interface Group {
	description: string;
	schema: EventSchema;
	tests: { description: string; data: unknown; valid: boolean }[];
}

const folders = ["draft2020-12", "draft2019-09", "draft7"];

function planOf(groups: Group[], $schema: string): PlanDocument {
	return {
		version: 1,
		account: "shop",
		plan: "suite",
		eventType: { header: "group" },
		events: groups.map(({ schema }, index) => ({
			type: `${index}`,
			schema: typeof schema === "object" ? { $schema, ...schema } : schema,
		})),
		onUnplannedEvent: "Allow",
		onViolation: "Reject",
		onUnplannedProperty: "Allow",
	};
}

/** Whether each case of a group is validated as the suite says; false for all if the schema can't be used. */
function agreement(groups: Group[], $schema: string): boolean[][] {
	const plan = planOf(groups, $schema);
	const compiled = compilePlan(plan);
	if ("fault" in compiled)
		return groups.length === 1
			? [groups[0]!.tests.map(() => false)]
			: groups.flatMap((group) => agreement([group], $schema));
	const validator = new PlanValidator(plan, compiled.code);
	return groups.map(({ tests }, index) =>
		tests.map(
			({ data, valid }) =>
				(validator.validate(data, `${index}`).outcome === "Accept") === valid,
		),
	);
}

function matches(
	{ files, groups }: SchemaException,
	file: string,
	group: string,
): boolean {
	return (
		files.includes(file) &&
		(!groups || groups.some((beginning) => group.startsWith(beginning)))
	);
}

test("every case of the official suite is validated as it says, but for the documented exceptions", () => {
	const used = new Set<SchemaException>();
	const undocumented: string[] = [];
	let cases = 0;
	for (const [index, folder] of folders.entries()) {
		const path = `../../test/support/corpus/json-schema/${folder}.json`;
		const suite = JSON.parse(
			readFileSync(new URL(path, import.meta.url), "utf8"),
		) as Record<string, Group[]>;
		for (const [file, groups] of Object.entries(suite)) {
			const agrees = agreement(groups, drafts[index]!.uri);
			for (const [at, { description, tests }] of groups.entries())
				for (const [number, { description: words }] of tests.entries()) {
					cases++;
					if (agrees[at]![number]) continue;
					const exception = schemaExceptions.find((each) =>
						matches(each, file, description),
					);
					if (exception) used.add(exception);
					else undocumented.push(`${folder}/${file}: ${description}: ${words}`);
				}
		}
	}
	expect(undocumented).toEqual([]);
	expect(schemaExceptions.filter((each) => !used.has(each))).toEqual([]);
	expect(cases).toBeGreaterThan(4_900);
});
