import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import {
	type ResourceSchema,
	type Rule,
	readResourceSchemas,
	type Schema,
} from "../../crds/resource-schema.ts";
import { type Kind, validateSpec } from "../../crds/spec-validator.ts";
import { kubectl } from "../kubectl.ts";
import { brokenBounds, type Manifest } from "../manifests/broken-bounds.ts";

const resources = readResourceSchemas();
const accepted = readManifests("accepted.yaml");
const refused = readManifests("refused.yaml");
const namespace = `crds-${randomUUID().slice(0, 8)}`;

beforeAll(async () => {
	await kubectl(["create", "namespace", namespace]);
});

test("manifests that use every field are accepted", async () => {
	const answer = await dryRun(accepted);
	expect(answer.stderr).toBe("");
	expect(answer.stdout.trim().split("\n")).toHaveLength(accepted.length);
});

test("they pass the validator that asks no apiserver, too", () => {
	const errors = accepted.flatMap(({ kind, spec }) =>
		validateSpec(kind as Kind, spec),
	);
	expect(errors).toEqual([]);
});

describe("a manifest that breaks a rule is refused with what would be right", () => {
	let answers: string[];
	beforeAll(async () => {
		answers = (await dryRun(refused)).stderr.trim().split("\n");
	});

	test.each(refused.map((manifest, i) => ({ manifest, i })))(
		"$manifest.kind $manifest.metadata.name",
		({ manifest, i }) => {
			const answer = withoutIntroduction(answers[i]!);
			expect(answer).toBe(manifest.metadata.annotations?.refused);
		},
	);
});

test("every rule that judges a new manifest has one that breaks it", () => {
	const unbroken = resources.flatMap(({ kind, schema }) =>
		[...rulesOf(schema)]
			.filter(({ rule }) => !rule.includes("oldSelf"))
			.filter(
				({ message }) =>
					!refused.some(
						(manifest) =>
							manifest.kind === kind &&
							manifest.metadata.annotations?.refused?.includes(message),
					),
			)
			.map(({ message }) => `${kind}: ${message}`),
	);
	expect(unbroken).toEqual([]);
});

test("a manifest beyond any bound of any field is refused, naming the field", async () => {
	const broken = brokenBounds(resources, accepted).map((each, i) => ({
		...each,
		name: `bound-${i}`,
	}));
	const { stderr } = await dryRun(
		broken.map(({ manifest, name }) => ({
			...manifest,
			metadata: { name },
		})),
	);
	const answers = stderr.split("\n");
	const wrong = broken.flatMap(({ bound, refused, name }) => {
		const answer = answers.find((line) =>
			line.includes(`"${name}" is invalid`),
		);
		return answer?.includes(refused) ? [] : [{ bound, refused, answer }];
	});
	expect(wrong).toEqual([]);
});

describe("what a Run was made for can't change", () => {
	beforeAll(async () => {
		await create({
			apiVersion: "tidemill.dev/v1alpha1",
			kind: "Run",
			metadata: { name: "fixed" },
			spec: {
				pipelineRef: { name: "orders" },
				dates: { start: "2026-01-01", end: "2026-01-02" },
				cancel: true,
			},
		});
	});

	const changes: [string, object, string][] = [
		[
			"its Pipeline",
			{ pipelineRef: { name: "other" } },
			"spec.pipelineRef: Invalid value: pipelineRef can't change; create another Run",
		],
		[
			"its dates",
			{ dates: { end: "2026-01-03" } },
			"spec.dates: Invalid value: dates can't change; create another Run",
		],
		[
			"that it has dates",
			{ dates: null },
			"spec.dates: Invalid value: dates can't change; create another Run",
		],
		[
			"that it is cancelled",
			{ cancel: false },
			"spec.cancel: Invalid value: a cancelled Run can't be taken up again; create another Run",
		],
	];

	test.each(changes)("%s", async (_, spec, message) => {
		const { stderr } = await patchSpec("run/fixed", spec);
		expect(stderr).toContain(message);
	});

	test("every rule about changes is among these", () => {
		const unbroken = resources.flatMap(({ schema }) =>
			[...rulesOf(schema)]
				.filter(({ rule }) => rule.includes("oldSelf"))
				.filter(
					({ message }) =>
						!changes.some(([, , answer]) => answer.includes(message)),
				),
		);
		expect(unbroken).toEqual([]);
	});
});

test("a Run can be cancelled", async () => {
	await create({
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Run",
		metadata: { name: "cancelled" },
		spec: { pipelineRef: { name: "orders" } },
	});
	expect((await patchSpec("run/cancelled", { cancel: true })).exitCode).toBe(0);
});

test("a manifest with nothing but what is required gets the defaults", async () => {
	const stored = await Promise.all(
		["Source", "Pipeline"].map(async (kind) => {
			const manifest = accepted.find(
				(each) => each.kind === kind && each.metadata.name === "least",
			)!;
			await create(manifest);
			return await read(`${kind}/least`);
		}),
	);
	expect(stored.map(({ spec }) => spec)).toEqual([
		{
			type: "Webhook",
			webhook: { authorization: { type: "None" }, maxBodyBytes: 1_048_576 },
			suspend: false,
			deletionPolicy: "Retain",
		},
		{
			sourceRef: { name: "shop" },
			destinationRef: { name: "duckdb" },
			table: {
				columns: ["EventID", "Timestamp", "Body", "Date"],
				onIncompatible: "Fail",
			},
			dateRange: { end: "Today" },
			overwritePeriodDays: 1,
			schedule: { type: "Manual", timeZone: "UTC" },
			suspend: false,
			runHistory: { succeeded: 3, failed: 1 },
			runTemplate: { activeDeadlineSeconds: 21_600, retries: 3 },
		},
	]);
});

describe("kubectl get answers at a glance", () => {
	const ready = {
		type: "Ready",
		status: "True",
		lastTransitionTime: "2026-01-01T00:00:00Z",
		reason: "Verified",
		message: "",
	};
	const anHourAgo = new Date(Date.now() - 3_600_000).toISOString();

	test.each([
		{
			manifest: source("glance"),
			status: {
				phase: "Active",
				counts: { archived: 329 },
				lastEventTime: anHourAgo,
				conditions: [ready],
			},
			columns: ["NAME", "PHASE", "READY", "EVENTS", "LAST EVENT", "AGE"],
			values: /^glance +Active +True +329 +60m +\d+s$/,
		},
		{
			manifest: manifestOf("Destination", "glance", {
				type: "DuckDB",
				duckDB: { path: "events.duckdb" },
			}),
			status: { conditions: [ready] },
			columns: ["NAME", "TYPE", "READY", "REASON", "AGE"],
			values: /^glance +DuckDB +True +Verified +\d+s$/,
		},
		{
			manifest: manifestOf("Pipeline", "glance", {
				sourceRef: { name: "shop" },
				destinationRef: { name: "warehouse" },
			}),
			status: {
				phase: "Ready",
				tableName: "orders",
				nextRunTime: "2099-01-01T00:00:00Z",
				lastRun: {
					name: "orders-1",
					phase: "Succeeded",
					rows: 329,
					completionTime: anHourAgo,
				},
			},
			columns: "NAME PHASE SOURCE DESTINATION TABLE LAST_RUN RAN ROWS NEXT_RUN"
				.split(" ")
				.map((name) => name.replace("_", " ")),
			values:
				/^glance +Ready +shop +warehouse +orders +Succeeded +60m +329 +2099-01-01T00:00:00Z$/,
		},
		{
			manifest: manifestOf("Run", "glance", {
				pipelineRef: { name: "orders" },
			}),
			status: {
				phase: "Succeeded",
				trigger: "Manual",
				rows: 329,
				dates: { start: "2026-01-01", end: "2026-01-02" },
			},
			columns: [
				"NAME",
				"PIPELINE",
				"PHASE",
				"TRIGGER",
				"ROWS",
				"FROM",
				"TO",
				"AGE",
			],
			values:
				/^glance +orders +Succeeded +Manual +329 +2026-01-01 +2026-01-02 +\d+s$/,
		},
		{
			manifest: manifestOf("TrackingPlan", "glance", {
				eventType: { constant: "order" },
			}),
			status: { eventTypes: 3, conditions: [ready] },
			columns: ["NAME", "READY", "REASON", "EVENT TYPES", "AGE"],
			values: /^glance +True +Verified +3 +\d+s$/,
		},
	])("$manifest.kind", async ({ manifest, status, columns, values }) => {
		await create(manifest);
		const name = `${manifest.kind}/glance`;
		await expectDone(
			kubectl([
				...inNamespace,
				"patch",
				name,
				"--subresource=status",
				"--type=merge",
				"--patch",
				JSON.stringify({ status }),
			]),
		);
		const { stdout } = await kubectl([...inNamespace, "get", name]);
		const [header, row] = stdout.trim().split("\n");
		expect(header?.trim().split(/ {2,}/)).toEqual(columns);
		expect(row?.trim()).toMatch(values);
	});

	test("the category and the short names find them all", async () => {
		const { stdout } = await kubectl([
			"api-resources",
			"--categories=tidemill",
			"--no-headers",
		]);
		const found = stdout
			.trim()
			.split("\n")
			.map((line) => line.split(/ +/).slice(0, 2));
		expect(found).toEqual([
			["destinations", "wdst"],
			["pipelines", "wpl"],
			["runs", "wrun"],
			["sources", "wsrc"],
			["trackingplans", "tplan"],
		]);
	});

	test("Runs can be asked for by their Pipeline", async () => {
		const { stdout } = await kubectl([
			...inNamespace,
			"get",
			"runs",
			"--field-selector=spec.pipelineRef.name=nobody",
			"--output=name",
		]);
		expect(stdout).toBe("");
	});
});

test("the quick start's manifests can be applied as a folder, and its run created", async () => {
	const folder = join(import.meta.dirname, "../../examples/quickstart");
	const applied = await expectDone(
		kubectl([...inNamespace, "apply", `--filename=${folder}`]),
	);
	expect(applied.stdout.trim().split("\n").sort()).toEqual([
		"destination.tidemill.dev/warehouse created",
		"pipeline.tidemill.dev/orders created",
		"source.tidemill.dev/shop created",
	]);
	const run = join(folder, "run/run.yaml");
	for (const _ of ["once", "again"]) {
		const { stdout } = await expectDone(
			kubectl([...inNamespace, "create", `--filename=${run}`]),
		);
		expect(stdout).toMatch(/^run.tidemill.dev\/orders-\w{5} created$/m);
	}
});

const inNamespace = ["--namespace", namespace];

function readManifests(file: string): Manifest[] {
	const path = join(import.meta.dirname, "../manifests", file);
	return parseAllDocuments(readFileSync(path, "utf8")).map((document) =>
		document.toJSON(),
	);
}

function manifestOf(kind: string, name: string, spec: object): Manifest {
	return {
		apiVersion: "tidemill.dev/v1alpha1",
		kind,
		metadata: { name },
		spec,
	};
}

function source(name: string): Manifest {
	return manifestOf("Source", name, { type: "Webhook" });
}

function dryRun(manifests: Manifest[]) {
	return kubectl(
		[...inNamespace, "create", "--dry-run=server", "--filename=-"],
		manifests.map((each) => JSON.stringify(each)).join("\n---\n"),
	);
}

async function create(manifest: Manifest): Promise<void> {
	await expectDone(
		kubectl(
			[...inNamespace, "create", "--filename=-"],
			JSON.stringify(manifest),
		),
	);
}

async function read(name: string): Promise<{ spec: unknown }> {
	const { stdout } = await expectDone(
		kubectl([...inNamespace, "get", name, "--output=json"]),
	);
	return JSON.parse(stdout);
}

function patchSpec(name: string, spec: object) {
	return kubectl([
		...inNamespace,
		"patch",
		name,
		"--type=merge",
		"--patch",
		JSON.stringify({ spec }),
	]);
}

async function expectDone(answer: ReturnType<typeof kubectl>) {
	const { exitCode, stderr, stdout } = await answer;
	expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
	return { stdout };
}

/** What the apiserver said, without kubectl's words before it and without the name, which stands in the manifest. */
function withoutIntroduction(answer: string): string {
	return answer
		.replace(/^Error from server \(\w+\): error when creating "STDIN": /, "")
		.replace(/^\w+\.tidemill\.dev "[^"]*" is invalid: /, "");
}

function* rulesOf(schema: ResourceSchema["schema"]): Generator<Rule> {
	yield* schema["x-kubernetes-validations"] ?? [];
	const within: Schema[] = Object.values(schema.properties ?? {});
	if (schema.items) within.push(schema.items);
	for (const field of within) yield* rulesOf(field);
}
