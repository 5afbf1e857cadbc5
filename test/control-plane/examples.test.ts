import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { kubectlDone } from "../support/servers/kubectl.ts";

const namespace = `examples-${randomUUID().slice(0, 8)}`;
const inNamespace = ["--namespace", namespace];

beforeAll(async () => {
	await kubectlDone(["create", "namespace", namespace]);
});

test("the example of columns from the body can be applied", async () => {
	const folder = join(import.meta.dirname, "../../examples/columns");
	expect(
		await kubectlDone([...inNamespace, "apply", `--filename=${folder}`]),
	).toBe("pipeline.tidemill.dev/orders-by-column created\n");
});

test("the quick start's manifests can be applied as a folder, and its run created", async () => {
	const folder = join(import.meta.dirname, "../../examples/quickstart");
	const applied = await kubectlDone([
		...inNamespace,
		"apply",
		`--filename=${folder}`,
	]);
	expect(applied.trim().split("\n").sort()).toEqual([
		"destination.tidemill.dev/warehouse created",
		"pipeline.tidemill.dev/orders created",
		"source.tidemill.dev/shop created",
	]);
	const run = `--filename=${join(folder, "run/run.yaml")}`;
	for (const _ of ["once", "again"])
		expect(await kubectlDone([...inNamespace, "create", run])).toMatch(
			/^run.tidemill.dev\/orders-\w{5} created$/m,
		);
});
