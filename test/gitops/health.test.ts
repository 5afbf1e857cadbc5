import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { readResourceSchemas } from "../../crds/resource-schema.ts";
import {
	argoHealthOf,
	customizations,
} from "../support/doubles/kubernetes/argocd-health.ts";
import { kstatusOf } from "../support/doubles/kubernetes/kstatus.ts";
import { validateSpec } from "../support/manifests/spec-validator.ts";

/** Laid out as in Argo CD's own repository, whose tests read the same files. */
const suites = globSync("*/*/health_test.yaml", { cwd: customizations });
const cases = suites.flatMap((suite) => {
	const { tests } = parse(
		readFileSync(join(customizations, suite), "utf8"),
	) as {
		tests: { healthStatus: object; inputPath: string }[];
	};
	return tests.map(({ healthStatus, inputPath }) => ({
		file: join(dirname(suite), inputPath),
		healthStatus,
	}));
});

const objectIn = (file: string) =>
	parse(readFileSync(join(customizations, file), "utf8"));

test("every kind has a health check", () => {
	expect(suites.map(dirname).toSorted()).toEqual(
		[
			"argoproj.io/Application",
			...readResourceSchemas().map(({ group, kind }) => `${group}/${kind}`),
		].toSorted(),
	);
});

test.each(cases)("Argo CD sees the health of $file", async (each) => {
	expect(await argoHealthOf(objectIn(each.file))).toEqual(each.healthStatus);
});

test("every fixture is in a test, and is a resource that the apiserver takes", () => {
	const files = globSync("*/*/testdata/*.yaml", { cwd: customizations });
	expect(files.toSorted()).toEqual(cases.map(({ file }) => file).toSorted());
	const errors = files
		.filter((file) => file.startsWith("tidemill.dev/"))
		.map(objectIn)
		.flatMap(({ kind, spec }) => validateSpec(kind, spec));
	expect(errors).toEqual([]);
});

test.each([
	["Source", "healthy", "Current"],
	["Source", "suspended", "Current"],
	["Source", "edited", "InProgress"],
	["Source", "degraded", "InProgress"],
	["Source", "deleting", "Terminating"],
	["Destination", "healthy", "Current"],
	["Destination", "checking", "InProgress"],
	["Pipeline", "healthy", "Current"],
	["Pipeline", "last_run_failed", "Current"],
	["Pipeline", "edited", "InProgress"],
	["TrackingPlan", "healthy", "Current"],
	["TrackingPlan", "degraded", "InProgress"],
	// It has no condition that kstatus knows: nobody waits for the end of a Run or an Operation by it.
	["Run", "failed", "Current"],
	["Operation", "failed", "Current"],
])("Flux's wait sees a %s that is %s as %s", (kind, file, expected) => {
	const object = objectIn(`tidemill.dev/${kind}/testdata/${file}.yaml`);
	expect(kstatusOf(object)).toBe(expected);
});
