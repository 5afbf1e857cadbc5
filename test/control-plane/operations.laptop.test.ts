import { expect, test, vi } from "vitest";
import {
	type Operation,
	operationKind,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import type {
	OperationInput,
	OperationReport,
} from "../../packages/contracts/operation.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { Informer } from "../../packages/kube/watch/informer.ts";
import { createLog } from "../../packages/service/log.ts";
import {
	eventReasons,
	refuseJobs,
} from "../support/fixtures/control-plane/cluster-state.ts";
import {
	client,
	RunScene,
	sourceKey,
	succeeded,
	today,
	wait,
} from "../support/fixtures/control-plane/run-scene.ts";

const scene = RunScene.use({ maxJobs: 1 });

const inline = {
	eventType: { constant: "order" },
	events: [{ type: "order", schema: { type: "object" } }],
};
const dryRun = { type: "DryRun", plan: { inline } };
const report: OperationReport = {
	version: 1,
	type: "DryRun",
	events: 3,
	planned: 2,
	annotated: 0,
	quarantined: 1,
	rejected: 0,
	findings: [
		{
			type: "order",
			kind: "TypeMismatch",
			path: "",
			message: "must be an object",
			events: 1,
			example: "e1",
		},
	],
	otherFindings: 0,
};

const statusOf = async (name: string) =>
	(await client.get<Operation>(operationKind, name, scene.namespace))?.status ??
	{};

const becomes = (name: string, phase: string) =>
	vi.waitFor(
		async () => expect((await statusOf(name)).phase).toBe(phase),
		wait,
	);

async function inputOf(name: string): Promise<OperationInput> {
	const secret = await vi.waitFor(async () => {
		const secretName = `${name}-operation-input`;
		const found = await client.get(kinds.secret, secretName, scene.namespace);
		expect(found).toBeDefined();
		return found!;
	}, wait);
	const text = Buffer.from(secret.data!["input.json"]!, "base64").toString();
	return JSON.parse(text);
}

test("an Operation becomes a Job, and what the Job left in the bucket its result", async () => {
	await scene.createOperation("try", dryRun);
	await becomes("try", "Running");
	const input = await inputOf("try");
	expect(input).toMatchObject({
		operation: { name: "try", account: scene.namespace, source: "orders" },
		work: {
			type: "DryRun",
			// With the defaults of a TrackingPlan.
			plan: { ...inline, plan: "try", onViolation: "Annotate" },
		},
		manifestURL: expect.stringContaining(input.operation.uid),
	});
	expect(scene.archive.questions).toMatchObject([
		{
			run: input.operation.uid,
			account: scene.namespace,
			sourceKey,
			report: true,
		},
	]);
	scene.archive.stored = { ok: true, report: JSON.stringify(report) };
	await scene.endPod("try", 0, succeeded, "operation");
	await becomes("try", "Succeeded");
	const status = await statusOf("try");
	const { version, type, otherFindings, ...result } = report as Extract<
		OperationReport,
		{ type: "DryRun" }
	>;
	expect(status).toMatchObject({
		summary: "3 events: 2 planned, 0 annotated, 1 quarantined, 0 rejected",
		dryRun: result,
		attempts: 1,
		planVersion: expect.stringMatching(/^[0-9a-f]{16}$/),
	});
	expect(findCondition(status.conditions, "Complete")?.status).toBe("True");
	expect(JSON.stringify(status)).not.toContain("signature");
	await vi.waitFor(async () => {
		const { namespace } = scene;
		const job = await client.get(kinds.job, "try-operation", namespace);
		expect(job).toBeUndefined();
		const told = await eventReasons(client, operationKind, namespace, "try");
		expect(told.sort()).toEqual(["OperationStarted", "OperationSucceeded"]);
	}, wait);
});

test("a plan by name is waited for, and a second Job waits for the first one's slot", async () => {
	await scene.createOperation("first", { type: "DryRun", plan: { name: "p" } });
	await becomes("first", "Pending");
	const plan = {
		metadata: { name: "p", namespace: scene.namespace },
		spec: inline,
	};
	await client.apply(trackingPlanKind, plan, { fieldManager: "test" });
	await becomes("first", "Running");
	expect(await inputOf("first")).toMatchObject({
		work: { plan: { ...inline, plan: "p" } },
	});
	await scene.createOperation("second", {
		type: "Draft",
		eventType: { bodyPointer: "/type" },
	});
	await vi.waitFor(async () => {
		const { conditions } = await statusOf("second");
		expect(findCondition(conditions, "Complete")?.reason).toBe("Queued");
	}, wait);
	await scene.createOperation("first", {
		type: "DryRun",
		plan: { name: "p" },
		cancel: true,
	});
	await becomes("first", "Cancelled");
	await becomes("second", "Running");
});

test("an Operation that a quota refuses never seems to work", async () => {
	await refuseJobs(client, scene.namespace);
	const operations = new Informer<Operation>(client, operationKind, {
		namespaces: [scene.namespace],
		log: createLog("test"),
	});
	const seen = new Set<string>();
	operations.onChange(({ status }) => {
		const complete = findCondition(status?.conditions, "Complete");
		if (status?.phase) seen.add(`${status.phase} ${complete?.reason}`);
	});
	const stop = new AbortController();
	const watching = operations.run(stop.signal);
	const create = vi.spyOn(client, "create");
	await scene.createOperation("refused", dryRun);
	// At least three tries.
	await vi.waitFor(() => {
		const tries = create.mock.calls.filter(([kind]) => kind === kinds.job);
		expect(tries.length).toBeGreaterThanOrEqual(3);
		expect([...seen]).toContain("Pending JobNotStarted");
	}, wait);
	create.mockRestore();
	stop.abort();
	await watching;
	// Archive's answer is kept meanwhile.
	expect(scene.archive.questions).toHaveLength(1);
	expect([...seen]).toEqual(["Pending Preparing", "Pending JobNotStarted"]);
	expect((await statusOf("refused")).startTime).toBeUndefined();
});

test("an Inspect's result is a page of events in quarantine", async () => {
	const page = [
		{
			eventID: "e1",
			timestamp: "2026-03-01T00:00:00.000Z",
			type: "order",
			violations: [{ kind: "TypeMismatch", path: "", message: "an object" }],
		},
	];
	const events = { version: 1, type: "Inspect", events: 1, hasMore: false };
	scene.archive.stored = {
		ok: true,
		report: JSON.stringify({ ...events, page }),
	};
	const filter = { types: ["order"] };
	await scene.createOperation("look", { type: "Inspect", filter, limit: 3 });
	expect(await inputOf("look")).toMatchObject({
		work: { type: "Inspect", filter, limit: 3 },
	});
	await scene.endPod("look", 0, succeeded, "operation");
	await becomes("look", "Succeeded");
	expect(await statusOf("look")).toMatchObject({
		summary: "1 event in quarantine, 1 listed",
		inspect: { events: 1, page },
	});
});

test("failIfBlocked fails it with its result, and it goes when its time is over", async () => {
	scene.archive.stored = { ok: true, report: JSON.stringify(report) };
	const spec = { ...dryRun, failIfBlocked: true };
	await scene.createOperation("gate", spec);
	await scene.endPod("gate", 0, succeeded, "operation");
	await becomes("gate", "Failed");
	expect(await statusOf("gate")).toMatchObject({
		error: { code: "EventsBlocked" },
		dryRun: { quarantined: 1 },
	});
	await scene.createOperation("gate", { ...spec, ttlSecondsAfterFinished: 0 });
	await vi.waitFor(async () => {
		const left = await client.get(operationKind, "gate", scene.namespace);
		expect(left).toBeUndefined();
	}, wait);
});

test("a Release is archive's work: it has no Job, and its result is in the status", async () => {
	const filter = { types: ["order"] };
	await scene.createOperation("release", { type: "Release", filter });
	await becomes("release", "Succeeded");
	expect(scene.archive.releases).toMatchObject([
		{ account: scene.namespace, sourceKey, filter, end: today },
	]);
	expect(await statusOf("release")).toMatchObject({
		summary: "2 events of 1 date released",
		release: { events: 2, dates: [{ date: today, events: 2 }] },
	});
	const { namespace } = scene;
	expect((await client.list(kinds.job, { namespace })).items).toEqual([]);
	// It can't take more by an edit.
	await expect(
		scene.createOperation("release", { type: "Release" }),
	).rejects.toThrow("filter can't change; create another Operation");
});

test("an Erase is archive's work, which forgets what it looked for once no table has a row of it", async () => {
	const match = { bodyPointer: "/email", equals: "ada@example.com" };
	const erase = { mode: "RemoveRow", confirm: "orders", match };
	await scene.createOperation("erase", { type: "Erase", erase });
	await becomes("erase", "Succeeded");
	const asked = { account: scene.namespace, sourceKey };
	expect(scene.archive.erasures).toMatchObject([
		{ ...asked, erasure: { mode: "RemoveRow", match } },
		{ ...asked, isLoaded: true },
	]);
	const { summary, erase: done } = await statusOf("erase");
	expect(summary).toBe(
		"2 rows erased in the bucket and 0 more in tables, 0 tables done",
	);
	expect(done?.places).toEqual(
		expect.arrayContaining([{ place: "Events", count: 2 }]),
	);
	const { namespace } = scene;
	expect((await client.list(kinds.job, { namespace })).items).toEqual([]);
});

test.each([
	["type", { type: "Draft", eventType: { constant: "a" } }],
	["dates", { ...dryRun, dates: { start: "2026-01-01", end: "2026-01-02" } }],
	["plan", { ...dryRun, plan: { name: "other" } }],
	["failIfBlocked", { ...dryRun, failIfBlocked: true }],
	["limit", { ...dryRun, limit: 1 }],
	["before", { ...dryRun, before: "e1" }],
])("%s can't change", async (field, spec) => {
	await scene.createOperation("fixed", dryRun);
	await expect(scene.createOperation("fixed", spec)).rejects.toThrow(
		`${field} can't change; create another Operation`,
	);
});

test.each([
	[{ type: "DryRun" }, "plan is required for DryRun and not allowed otherwise"],
	[{ ...dryRun, plan: {} }, "set exactly one of name and inline"],
	[
		{ ...dryRun, plan: { name: "p", inline } },
		"set exactly one of name and inline",
	],
	[
		{ type: "Draft" },
		"eventType is required for Draft and not allowed otherwise",
	],
	[
		{ type: "Draft", eventType: { constant: "a" }, failIfBlocked: true },
		"failIfBlocked is only allowed for DryRun",
	],
	[
		{ ...dryRun, filter: {} },
		"filter is only allowed for Release, Inspect and Erase",
	],
	[{ ...dryRun, limit: 5 }, "limit is only allowed for Inspect"],
	[{ type: "Release", before: "e1" }, "before is only allowed for Inspect"],
	[{ type: "Inspect", limit: 101 }, "spec.limit"],
	[
		{ ...dryRun, dates: { start: "2026-01-02", end: "2026-01-01" } },
		"start must not be after end",
	],
])("the apiserver refuses %j", async (spec, message) => {
	await expect(scene.createOperation("wrong", spec)).rejects.toThrow(message);
});
