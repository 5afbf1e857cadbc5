// In make test: test/control-plane/crds.laptop.test.ts
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { manifestOf } from "../support/manifests/manifest.ts";
import { kubectlDone } from "../support/servers/kubectl.ts";

const namespace = `columns-${randomUUID().slice(0, 8)}`;
const inNamespace = ["--namespace", namespace];

beforeAll(async () => {
	await kubectlDone(["create", "namespace", namespace]);
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
			manifest: manifestOf("Source", "glance", { type: "Webhook" }),
			status: {
				phase: "Active",
				counts: { archived: 329, quarantined: 12 },
				lastEventTime: anHourAgo,
				conditions: [ready],
			},
			columns: [
				"NAME",
				"PHASE",
				"READY",
				"REASON",
				"EVENTS",
				"QUARANTINED",
				"LAST EVENT",
				"AGE",
			],
			values: /^glance +Active +True +Verified +329 +12 +\d+m +\d+\w+$/,
		},
		{
			manifest: manifestOf("Destination", "glance", {
				type: "DuckDB",
				duckDB: { path: "events.duckdb" },
			}),
			status: { conditions: [ready] },
			columns: ["NAME", "TYPE", "READY", "REASON", "AGE"],
			values: /^glance +DuckDB +True +Verified +\d+\w+$/,
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
				conditions: [
					{ ...ready, type: "ValuesFit", status: "False" },
					{ ...ready, status: "False", reason: "TableConflict" },
				],
			},
			columns:
				"NAME PHASE REASON SOURCE DESTINATION TABLE LAST_RUN RAN ROWS VALUES_FIT NEXT_RUN"
					.split(" ")
					.map((name) => name.replace("_", " ")),
			values:
				/^glance +Ready +TableConflict +shop +warehouse +orders +Succeeded +\d+m +329 +False +2099-01-01T00:00:00Z$/,
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
				conditions: [{ ...ready, type: "Complete", reason: "Succeeded" }],
			},
			columns: [
				"NAME",
				"PIPELINE",
				"PHASE",
				"REASON",
				"TRIGGER",
				"ROWS",
				"FROM",
				"TO",
				"AGE",
			],
			values:
				/^glance +orders +Succeeded +Succeeded +Manual +329 +2026-01-01 +2026-01-02 +\d+\w+$/,
		},
		{
			manifest: manifestOf("Operation", "glance", {
				type: "DryRun",
				sourceRef: { name: "shop" },
				plan: { name: "orders" },
			}),
			status: { phase: "Succeeded", summary: "3 events: 3 planned" },
			columns: ["NAME", "TYPE", "SOURCE", "PHASE", "SUMMARY", "AGE"],
			values: /^glance +DryRun +shop +Succeeded +3 events: 3 planned +\d+\w+$/,
		},
		{
			manifest: manifestOf("TrackingPlan", "glance", {
				eventType: { constant: "order" },
			}),
			status: {
				eventTypes: 3,
				version: "0123456789abcdef",
				usedBy: 2,
				conditions: [ready],
			},
			columns: [
				...["NAME", "READY", "REASON", "EVENT TYPES"],
				...["VERSION", "USED BY", "AGE"],
			],
			values: /^glance +True +Verified +3 +0123456789abcdef +2 +\d+\w+$/,
		},
	])("$manifest.kind", async ({ manifest, status, columns, values }) => {
		await kubectlDone(
			[...inNamespace, "create", "--filename=-"],
			JSON.stringify(manifest),
		);
		const name = `${manifest.kind}/glance`;
		await kubectlDone([
			...inNamespace,
			"patch",
			name,
			"--subresource=status",
			"--type=merge",
			"--patch",
			JSON.stringify({ status }),
		]);
		const stdout = await kubectlDone([...inNamespace, "get", name]);
		const [header, row] = stdout.trim().split("\n");
		expect(header?.trim().split(/ {2,}/)).toEqual(columns);
		expect(row?.trim()).toMatch(values);
	});

	test("the category and the short names find them all", async () => {
		const stdout = await kubectlDone([
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
			["operations", "wop"],
			["pipelines", "wpl"],
			["runs", "wrun"],
			["sources", "wsrc"],
			["trackingplans", "tplan"],
		]);
	});

	test("Runs can be asked for by their Pipeline", async () => {
		const stdout = await kubectlDone([
			...inNamespace,
			"get",
			"runs",
			"--field-selector=spec.pipelineRef.name=nobody",
			"--output=name",
		]);
		expect(stdout).toBe("");
	});
});
