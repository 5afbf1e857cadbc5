import { Registry } from "prom-client";
import { expect, test } from "vitest";
import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../crds/generated/types.ts";
import { annotation } from "../crds/labels.ts";
import type { KubeObject, ResourceKind } from "../packages/kube/resource.ts";
import {
	layout,
	pipelineOf,
	runOf,
	sourceOf,
} from "../test/support/examples/resource-examples.ts";
import { hostileTexts } from "../test/support/strangers/hostile-texts.ts";
import {
	maxPipelines,
	maxTokens,
	type ObservedInformers,
	OperatorMetrics,
} from "./metrics.ts";

const now = Date.parse("2026-03-10T07:00:00Z");

/** An informer's cache, and the changes that a test makes. */
function cacheOf<T extends KubeObject>(
	kind: Pick<ResourceKind<T>, "kind">,
	objects: T[] = [],
) {
	const handlers: ((object: T, previous?: T, deleted?: boolean) => void)[] = [];
	return {
		kind,
		list: () => objects,
		get: (_: string, name: string) =>
			objects.find(({ metadata }) => metadata.name === name),
		onChange: (handler: (typeof handlers)[number]) => handlers.push(handler),
		change: (object: T, previous?: T, deleted = false) => {
			for (const handler of handlers) handler(object, previous, deleted);
		},
	};
}

function world(
	given: {
		pipelines?: Pipeline[];
		runs?: Run[];
		tokens?: KubeObject[];
		destinations?: KubeObject[];
		clockAheadMs?: number;
	} = {},
) {
	const registry = new Registry();
	const runs = cacheOf(runKind, given.runs);
	const informers = {
		sources: cacheOf({ kind: "Source" }, [sourceOf(), sourceOf("new", {})]),
		destinations: cacheOf({ kind: "Destination" }, given.destinations),
		pipelines: cacheOf(pipelineKind, given.pipelines),
		trackingPlans: cacheOf({ kind: "TrackingPlan" }),
		runs,
		roleBindings: cacheOf({ kind: "RoleBinding" }, given.tokens),
	} as unknown as ObservedInformers;
	const namesOf = (type: "missing" | "notPermitted") =>
		type === "missing" ? ["not-there"] : ["not-bound"];
	const metrics = new OperatorMetrics(
		registry,
		informers,
		{ overlaps: [{ claim: "shop", other: "two/operator", isOurs: true }] },
		{ namesOf },
		() => true,
		() => 7,
		{ now: () => now, aheadMs: given.clockAheadMs },
	);
	const lines = async (name: string) =>
		(await registry.metrics())
			.split("\n")
			.filter(
				(line) => /[{ ]/.test(line[name.length] ?? "") && line.startsWith(name),
			);
	return { metrics, runs, lines };
}

test("a restore that waits for a person's word is told", async () => {
	expect(await world().lines("tidemill_restore_awaited")).toEqual([
		"tidemill_restore_awaited 1",
	]);
});

test("what a Source has lost by a person's word is told", async () => {
	const { lines } = world();
	expect(await lines("tidemill_source_lost_events")).toEqual([
		'tidemill_source_lost_events{account="shop",source="orders"} 7',
	]);
});

test("how far the clock is off is told, and nothing until the apiserver has answered", async () => {
	const name = "tidemill_operator_clock_ahead_seconds";
	expect(await world().lines(name)).toEqual([`${name} 0`]);
	expect(await world({ clockAheadMs: -3_600_500 }).lines(name)).toEqual([
		`${name} -3600.5`,
	]);
});

test("resources are counted by kind, account and Ready", async () => {
	expect(await world().lines("tidemill_resources")).toEqual([
		'tidemill_resources{kind="Source",account="shop",ready="True"} 1',
		'tidemill_resources{kind="Source",account="shop",ready="Unknown"} 1',
	]);
});

test("a Pipeline's series say how old its last success is, how late it is, and why its last Run failed", async () => {
	const pipeline = pipelineOf(
		{ schedule: { type: "Daily", updateTime: "06:00" } },
		{
			status: {
				schedule: { hash: "any", since: "2026-03-01T00:00:09Z" },
				lastRun: {
					name: "late",
					phase: "Failed",
					completionTime: "2026-03-10T06:10:00Z",
				},
				lastSuccess: {
					snapshotTime: "2026-03-09T06:00:20Z",
					closedThrough: "2026-03-08",
					layout,
				},
			},
		},
	);
	const error = { code: "ObjectMismatch", message: "", retryable: false };
	const { lines } = world({
		pipelines: [pipeline],
		runs: [runOf("late", { phase: "Failed", error })],
	});
	const labels = 'account="shop",pipeline="load-orders"';
	const success = Date.parse("2026-03-09T06:00:20Z") / 1000;
	expect(
		await lines("tidemill_pipeline_last_success_timestamp_seconds"),
	).toEqual([
		`tidemill_pipeline_last_success_timestamp_seconds{${labels}} ${success}`,
	]);
	expect(await lines("tidemill_pipeline_overdue_seconds")).toEqual([
		`tidemill_pipeline_overdue_seconds{${labels}} 3600`,
	]);
	expect(await lines("tidemill_pipeline_failed")).toEqual([
		`tidemill_pipeline_failed{${labels},code="ObjectMismatch"} 1`,
	]);
});

test("a Destination that goes on unbound is told, and no other", async () => {
	const reached = { address: "postgres+require://db:5432", secretUIDs: ["s"] };
	const destinations = [
		{ metadata: { name: "new", namespace: "shop" } },
		{ metadata: { name: "bound", namespace: "shop" }, status: { reached } },
		{
			metadata: { name: "old", namespace: "shop" },
			status: { reached: { ...reached, unbound: true } },
		},
	];
	expect(
		await world({ destinations }).lines("tidemill_destination_unbound"),
	).toEqual([
		'tidemill_destination_unbound{account="shop",destination="old"} 1',
	]);
});

test("a Pipeline's values fit or not, as its condition says", async () => {
	const withValues = (name: string, status?: "True" | "False") =>
		pipelineOf(
			{},
			{
				name,
				status: {
					...(status && {
						conditions: [
							{
								...{ type: "ValuesFit", status, reason: "Fit", message: "" },
								lastTransitionTime: "2026-03-10T06:10:00Z",
							},
						],
					}),
				},
			},
		);
	const { lines } = world({
		pipelines: [
			withValues("a", "True"),
			withValues("b", "False"),
			withValues("c"),
		],
	});
	expect(await lines("tidemill_pipeline_values_unfit")).toEqual(
		["a 0", "b 1"].map((each) => {
			const [name, value] = each.split(" ");
			return `tidemill_pipeline_values_unfit{account="shop",pipeline="${name}"} ${value}`;
		}),
	);
});

test("a Pipeline whose last Run succeeded or was cancelled has not failed", async () => {
	const ended = (phase: "Succeeded" | "Cancelled") =>
		pipelineOf(
			{},
			{
				name: phase.toLowerCase(),
				status: {
					lastRun: {
						name: "any",
						phase,
						completionTime: "2026-03-10T06:10:00Z",
					},
				},
			},
		);
	const { lines } = world({
		pipelines: [ended("Succeeded"), ended("Cancelled")],
	});
	expect(await lines("tidemill_pipeline_failed")).toEqual([]);
});

test("one account's Pipelines take no more than their share of series", async () => {
	const status = {
		lastRun: {
			name: "any",
			phase: "Failed" as const,
			completionTime: "2026-03-10T06:10:00Z",
		},
	};
	const pipelines = Array.from({ length: maxPipelines + 1 }, (_, index) =>
		pipelineOf({}, { name: `p${index}`, status }),
	);
	const other = pipelineOf({}, { name: "other", status });
	other.metadata.namespace = "depot";
	const { lines } = world({ pipelines: [...pipelines, other] });
	const found = await lines("tidemill_pipeline_failed");
	expect(found).toHaveLength(maxPipelines + 1);
	expect(found.at(-1)).toContain('account="depot"');
});

test("each Run that ends is counted once, by account and error code, with its duration", async () => {
	const { metrics, runs, lines } = world();
	const before = runOf("r", { phase: "Running" });
	const after = runOf("r", {
		phase: "Failed",
		completionTime: "2026-03-01T00:01:40Z",
		error: { code: "DestinationBusy", message: "", retryable: true },
	});
	runs.change(after, before);
	metrics.countRuns();
	// What is there at the start of the process ended before.
	runs.change(after);
	runs.change(after, before);
	runs.change(after, after);
	runs.change(after, after, true);
	expect(await lines("tidemill_runs_total")).toEqual([
		'tidemill_runs_total{account="shop",phase="Failed",code="DestinationBusy"} 1',
	]);
	expect(await lines("tidemill_run_duration_seconds_sum")).toEqual([
		'tidemill_run_duration_seconds_sum{phase="Failed"} 100',
	]);
});

test("error codes that an account's Jobs invent share one series", async () => {
	const { metrics, runs, lines } = world();
	metrics.countRuns();
	const end = (code: string) =>
		runs.change(
			runOf("r", {
				phase: "Failed",
				completionTime: "2026-03-01T00:00:01Z",
				error: { code, message: "", retryable: false },
			}),
			runOf("r", { phase: "Running" }),
		);
	for (const text of ['a"} 1\nforged', ...hostileTexts]) end(text);
	for (let index = 0; index < 200; index++)
		end(`Code${"ABCDEFGHIJ"[index % 10]}${"x".repeat(index / 10)}`);
	const found = await lines("tidemill_runs_total");
	expect(found.length).toBeLessThanOrEqual(61);
	for (const line of found)
		expect(line).toMatch(/^tidemill_runs_total\{(\w+="[\w()]*",?)+\} \d+$/);
	expect(found.filter((line) => line.includes('code="(other)"'))).toHaveLength(
		1,
	);
});

test("a token's series says when it expires: of each account the first ones, and not long after", async () => {
	const token = (name: string, expires: string): KubeObject => ({
		metadata: {
			name: `tidemill-token-${name}`,
			namespace: "shop",
			annotations: { [annotation.tokenExpires]: expires },
		},
	});
	const many = Array.from({ length: maxTokens + 5 }, (_, index) =>
		token(
			`t${index}`,
			new Date(now + (100 - index) * 86_400_000).toISOString(),
		),
	);
	const { lines } = world({
		tokens: [
			...many,
			token("gone", "2026-03-01T00:00:00Z"),
			token("yesterday", "2026-03-09T12:00:00Z"),
			token("forged", "whenever"),
			token("cli-0123456789", "2026-03-09T12:00:00Z"),
		],
	});
	const found = await lines("tidemill_token_expiry_timestamp_seconds");
	expect(found).toHaveLength(maxTokens);
	expect(found[0]).toBe(
		`tidemill_token_expiry_timestamp_seconds{account="shop",token="yesterday"} ${Date.parse("2026-03-09T12:00:00Z") / 1000}`,
	);
	expect(found[1]).toContain(`token="t${maxTokens + 4}"`);
	expect(found.join()).not.toMatch(/gone|forged|cli-/);
});

test("a watched namespace that is missing or not permitted has a series of its own", async () => {
	const { lines } = world();
	expect(await lines("tidemill_watched_namespace_missing")).toEqual([
		'tidemill_watched_namespace_missing{account="not-there"} 1',
	]);
	expect(await lines("tidemill_watched_namespace_not_permitted")).toEqual([
		'tidemill_watched_namespace_not_permitted{account="not-bound"} 1',
	]);
});
