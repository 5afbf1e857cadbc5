import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import {
	type CelRule,
	type ResourceSchema,
	readResourceSchemas,
	type Schema,
} from "../../crds/resource-schema.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import { brokenBounds } from "../support/manifests/broken-bounds.ts";
import {
	type Manifest,
	manifestOf,
	type RefusedManifest,
	readAcceptedManifests,
	readRefusedManifests,
} from "../support/manifests/manifest.ts";
import { validateSpec } from "../support/manifests/spec-validator.ts";
import { kubectl, kubectlDone } from "../support/servers/kubectl.ts";

const resources = readResourceSchemas();
const accepted = readAcceptedManifests();
/** Also one of each type of warehouse without its part of the spec, one of a type that no version has yet, and a long text. */
const refused = [
	...readRefusedManifests(accepted),
	...[...warehouses].map(([type, { member }]) =>
		destinationOf(
			type,
			`spec.${member}: Invalid value: ${member} is required for type ${type} and not allowed otherwise; null in a merge patch removes it`,
		),
	),
	destinationOf(
		"Snowflake",
		`[spec.type: Unsupported value: "Snowflake": supported values: ${[...warehouses.keys()].map((type) => `"${type}"`).join(", ")}, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]`,
	),
	{
		manifest: manifestOf("Source", "long-answer", {
			type: "Webhook",
			webhook: { response: { body: "ü".repeat(2049) } },
		}),
		says: "spec.webhook.response.body: Invalid value: body must have at most 4096 bytes in UTF-8",
	},
];
const namespace = `crds-${randomUUID().slice(0, 8)}`;
const inNamespace = ["--namespace", namespace];

function destinationOf(type: string, says: string): RefusedManifest {
	const name = `of-type-${type.toLowerCase()}`;
	return { manifest: manifestOf("Destination", name, { type }), says };
}

beforeAll(async () => {
	await kubectlDone(["create", "namespace", namespace]);
});

test("manifests that use every field are accepted", async () => {
	const answer = await dryRun(accepted);
	expect(answer.stderr).toBe("");
	expect(answer.stdout.trim().split("\n")).toHaveLength(accepted.length);
});

test("they pass the validator that asks no apiserver, too", () => {
	const errors = accepted.flatMap(({ kind, spec }) => validateSpec(kind, spec));
	expect(errors).toEqual([]);
});

describe("a manifest that breaks a rule is refused with what would be right", () => {
	let answers: string[];
	beforeAll(async () => {
		const manifests = refused.map(({ manifest }) => manifest);
		answers = (await dryRun(manifests)).stderr.trim().split("\n");
	});

	test.each(refused.map((each, i) => ({ ...each, i })))(
		"$manifest.kind $manifest.metadata.name",
		({ says, i }) => {
			expect(withoutIntroduction(answers[i]!)).toBe(says);
		},
	);
});

test("every rule that validates a new manifest has one that breaks it", () => {
	const unbroken = resources.flatMap(({ kind, schema }) =>
		[...rulesOf(schema)]
			.filter(({ rule }) => !rule.includes("oldSelf"))
			.filter(
				({ message }) =>
					!refused.some(
						({ manifest, says }) =>
							manifest.kind === kind && says.includes(message),
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

test("a merge patch from one type of schedule to another says what it must remove, and then passes", async () => {
	await create(
		manifestOf("Pipeline", "rescheduled", {
			sourceRef: { name: "shop" },
			destinationRef: { name: "lake" },
			schedule: { type: "Daily", updateTime: "06:30" },
		}),
	);
	const every = { type: "Interval", interval: "15m" };
	const name = "pipeline/rescheduled";
	expect((await patchSpec(name, { schedule: every })).stderr).toContain(
		"updateTime is required for type Daily and not allowed otherwise; null in a merge patch removes it",
	);
	const patch = { schedule: { ...every, updateTime: null } };
	expect((await patchSpec(name, patch)).stderr).toBe("");
});

describe("what a Run or an Operation was made for can't change", () => {
	beforeAll(async () => {
		await create(
			manifestOf("Run", "fixed", {
				pipelineRef: { name: "orders" },
				dates: { start: "2026-01-01", end: "2026-01-02" },
				cancel: true,
			}),
		);
		await create(
			manifestOf("Operation", "dry-run", {
				type: "DryRun",
				sourceRef: { name: "shop" },
				plan: { name: "orders" },
				cancel: true,
			}),
		);
		await create(
			manifestOf("Operation", "draft", {
				type: "Draft",
				sourceRef: { name: "shop" },
				eventType: { constant: "order" },
			}),
		);
		await create(
			manifestOf("Operation", "release", {
				type: "Release",
				sourceRef: { name: "shop" },
			}),
		);
		await create(
			manifestOf("Operation", "inspect", {
				type: "Inspect",
				sourceRef: { name: "shop" },
			}),
		);
		await create(
			manifestOf("Operation", "import", {
				type: "Import",
				sourceRef: { name: "shop" },
				import: { files: [{ name: "a.jsonl", sha256: "0".repeat(64) }] },
			}),
		);
		await create(
			manifestOf("Operation", "erase", {
				type: "Erase",
				sourceRef: { name: "shop" },
				filter: { eventIDs: ["a"] },
				erase: { mode: "RemoveRow", confirm: "shop" },
			}),
		);
	});

	const changes: [object: string, field: string, spec: object][] = [
		["run/fixed", "pipelineRef", { pipelineRef: { name: "other" } }],
		["run/fixed", "dates", { dates: { end: "2026-01-03" } }],
		["run/fixed", "dates", { dates: null }],
		["run/fixed", "full", { dates: null, full: true }],
		["run/fixed", "acceptLoss", { acceptLoss: ["2026-01-01"] }],
		["run/fixed", "cancel", { cancel: false }],
		[
			"operation/dry-run",
			"type",
			{ type: "Draft", plan: null, eventType: { constant: "order" } },
		],
		["operation/dry-run", "sourceRef", { sourceRef: { name: "other" } }],
		[
			"operation/dry-run",
			"dates",
			{ dates: { start: "2026-01-01", end: "2026-01-02" } },
		],
		["operation/dry-run", "plan", { plan: { name: "other" } }],
		["operation/dry-run", "failIfBlocked", { failIfBlocked: true }],
		["operation/dry-run", "cancel", { cancel: false }],
		["operation/draft", "eventType", { eventType: { constant: "refund" } }],
		["operation/release", "filter", { filter: { types: ["order"] } }],
		["operation/inspect", "limit", { limit: 5 }],
		["operation/inspect", "before", { before: "e1" }],
		["operation/import", "import", { import: { date: "2026-03-01" } }],
		["operation/erase", "erase", { erase: { mode: "BlankBody" } }],
	];
	const answerOf = ([object, field]: (typeof changes)[number]) => {
		const kind = object.startsWith("run/") ? "Run" : "Operation";
		return field === "cancel"
			? `spec.cancel: Invalid value: a cancelled ${kind} can't be resumed; create another ${kind}`
			: `spec.${field}: Invalid value: ${field} can't change; create another ${kind}`;
	};

	test.each(changes)("%s: %s to %j", async (...change) => {
		const [object, , spec] = change;
		const { stderr } = await patchSpec(object, spec);
		expect(stderr).toContain(answerOf(change));
	});

	test("every rule about changes is among these", () => {
		const unbroken = resources.flatMap(({ schema }) =>
			[...rulesOf(schema)]
				.filter(({ rule }) => rule.includes("oldSelf"))
				.filter(
					({ message }) =>
						!changes.some((change) => answerOf(change).includes(message)),
				),
		);
		expect(unbroken).toEqual([]);
	});
});

test("a Run can be cancelled", async () => {
	await create(
		manifestOf("Run", "cancelled", { pipelineRef: { name: "orders" } }),
	);
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
			suspend: false,
			retentionDays: 30,
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
			schedule: { type: "Manual" },
			suspend: false,
			pendingDeadlineSeconds: 3_600,
			runHistory: { succeeded: 10, failed: 5, days: 30 },
			runTemplate: { activeDeadlineSeconds: 21_600, retries: 3 },
		},
	]);
});

function dryRun(manifests: Manifest[]) {
	return kubectl(
		[...inNamespace, "create", "--dry-run=server", "--filename=-"],
		manifests.map((each) => JSON.stringify(each)).join("\n---\n"),
	);
}

async function create(manifest: Manifest): Promise<void> {
	await kubectlDone(
		[...inNamespace, "create", "--filename=-"],
		JSON.stringify(manifest),
	);
}

async function read(name: string): Promise<{ spec: unknown }> {
	return JSON.parse(
		await kubectlDone([...inNamespace, "get", name, "--output=json"]),
	);
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

/** What the apiserver said, without kubectl's words before it and without the name, which stands in the manifest. */
function withoutIntroduction(answer: string): string {
	return answer
		.replace(/^Error from server \(\w+\): error when creating "STDIN": /, "")
		.replace(/^\w+\.tidemill\.dev "[^"]*" is invalid: /, "");
}

function* rulesOf(schema: ResourceSchema["schema"]): Generator<CelRule> {
	yield* schema["x-kubernetes-validations"] ?? [];
	const within: Schema[] = Object.values(schema.properties ?? {});
	if (schema.items) within.push(schema.items);
	for (const field of within) yield* rulesOf(field);
}
