// In make test: test/gitops/examples.test.ts
import { randomUUID } from "node:crypto";
import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { kubectlDone } from "../support/servers/kubectl.ts";

const namespace = `examples-${randomUUID().slice(0, 8)}`;
const inNamespace = ["--namespace", namespace];

beforeAll(async () => {
	await kubectlDone(["create", "namespace", namespace]);
});

const examples = join(import.meta.dirname, "../../examples");

test("the example of columns from the body can be applied", async () => {
	const folder = join(examples, "columns");
	expect(
		await kubectlDone([...inNamespace, "apply", `--filename=${folder}`]),
	).toBe("pipeline.tidemill.dev/orders-by-column created\n");
});

test("the example of two Pipelines with filters can be applied", async () => {
	const folder = join(examples, "filter");
	expect(
		await kubectlDone([...inNamespace, "apply", `--filename=${folder}`]),
	).toBe(
		"pipeline.tidemill.dev/only-orders created\npipeline.tidemill.dev/paid-refunds created\n",
	);
});

test("the example of a table for each event type can be applied", async () => {
	const folder = join(examples, "event-types");
	expect(
		await kubectlDone([...inNamespace, "apply", `--filename=${folder}`]),
	).toBe("pipeline.tidemill.dev/by-type created\n");
});

test("the example of columns that follow the events can be applied", async () => {
	const folder = join(examples, "evolve");
	expect(
		await kubectlDone([...inNamespace, "apply", `--filename=${folder}`]),
	).toBe("pipeline.tidemill.dev/orders-as-sent created\n");
});

test("the example of a form into ClickHouse can be applied", async () => {
	const file = join(examples, "clickhouse/form.yaml");
	expect(
		await kubectlDone([...inNamespace, "apply", `--filename=${file}`]),
	).toBe(
		"source.tidemill.dev/feedback created\ndestination.tidemill.dev/clickhouse created\npipeline.tidemill.dev/feedback created\n",
	);
});

test("the examples of senders can be applied as a folder", async () => {
	const folder = join(examples, "senders");
	const applied = await kubectlDone([
		...inNamespace,
		"apply",
		`--filename=${folder}`,
	]);
	expect(applied.trim().split("\n").sort()).toEqual(
		globSync("*.yaml", { cwd: folder })
			.map((file) => basename(file, ".yaml"))
			.map((name) => `source.tidemill.dev/${name} created`)
			.sort(),
	);
});

test.each(["dry-run", "draft"])(
	"the example of a %s can be created",
	async (name) => {
		const file = `--filename=${join(examples, `operations/${name}.yaml`)}`;
		expect(await kubectlDone([...inNamespace, "create", file])).toMatch(
			new RegExp(`^operation.tidemill.dev/shop-${name}-\\w{5} created$`, "m"),
		);
	},
);

test("the hook before a sync gets the plan that the sync applies", async () => {
	const built = await kubectlDone(["kustomize", join(examples, "presync")]);
	const objects = parseAllDocuments(built).map((each) => each.toJS());
	const plan = objects.find(({ kind }) => kind === "TrackingPlan");
	const hook = objects.find(({ kind }) => kind === "Operation");
	expect(plan.spec.events).toHaveLength(1);
	expect(hook.spec.plan).toEqual({ inline: plan.spec });
	expect(hook.metadata.annotations).toMatchObject({
		"argocd.argoproj.io/hook": "PreSync",
	});
	// The apiserver takes both.
	await kubectlDone([...inNamespace, "create", "--filename=-"], built);
});

test("the quick start's manifests can be applied as a folder, and its run created", async () => {
	const folder = join(examples, "quickstart");
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
