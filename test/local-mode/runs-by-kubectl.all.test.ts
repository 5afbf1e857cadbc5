// In make test: test/promises/you-are-told.laptop.test.ts
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { beforeAll, expect, test, vi } from "vitest";
import type { Run } from "../../crds/generated/types.ts";
import { addDays, utcDate } from "../../packages/contracts/utc-date.ts";
import { send } from "../support/senders/http-client.ts";
import {
	applyQuickstart,
	type Quickstart,
} from "../support/senders/quickstart.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";

/* Runs as a person makes, waits for and cancels them with kubectl alone, carried out on the process node. */

let local: LocalMode;
let quickstart: Quickstart;
/** The day on which the events come, unless it ends meanwhile: then also the next. */
const today = utcDate(Date.now());
const soon = { timeout: 120_000, interval: 100 };

beforeAll(async () => {
	local = await openLocalMode("runs");
	quickstart = await applyQuickstart(local);
	await sendEvent(1);
});

async function sendEvent(order: number): Promise<void> {
	const { status } = await send(quickstart.webhookURL, {
		headers: { "content-type": "application/json" },
		body: JSON.stringify({ order }),
	});
	expect(status).toBe(200);
}

const kubectl = (...args: string[]) => local.run("kubectl", ...args);

/** `kubectl create` of a Run by its generateName; returns `run.tidemill.dev/<name>`. */
async function createRun(spec = ""): Promise<string> {
	const manifest = `{ apiVersion: tidemill.dev/v1alpha1, kind: Run, metadata: { generateName: orders- }, spec: { pipelineRef: { name: orders }${spec} } }`;
	const created = await local.run(
		"sh",
		"-c",
		'printf "%s" "$0" | kubectl create -o name -f -',
		manifest,
	);
	expect(created).toMatch(/^run\.tidemill\.dev\/orders-\w+\n$/);
	return created.trim();
}

const condition = (name: string, type: string) =>
	kubectl("wait", `--for=condition=${type}`, name, "--timeout=120s");

async function statusOf(run: string) {
	return (await local.resource<Run>("get", run)).status!;
}

function orders(): Promise<{ body: string }[]> {
	return quickstart.query("select body from $table order by body");
}

test("kubectl wait sees Sources, Destinations, Pipelines and TrackingPlans become Ready", async () => {
	const plan =
		"{ apiVersion: tidemill.dev/v1alpha1, kind: TrackingPlan, metadata: { name: orders }, spec: { eventType: { constant: order }, common: { type: object } } }";
	await local.run("sh", "-c", 'printf "%s" "$0" | kubectl apply -f -', plan);
	for (const name of [
		"source/shop",
		"destination/warehouse",
		"pipeline/orders",
		"trackingplan/orders",
	])
		expect(await condition(name, "Ready")).toContain("condition met");
});

test("a Run made with kubectl create becomes Complete and says what it loaded", async () => {
	const run = await createRun();
	expect(await condition(run, "Complete")).toBe(`${run} condition met\n`);
	expect(await statusOf(run)).toMatchObject({
		phase: "Succeeded",
		trigger: "Manual",
		rows: 1,
	});
	expect(await orders()).toEqual([{ body: '{"order":1}' }]);
});

test("spec.dates loads just these days", async () => {
	await sendEvent(2);
	const yesterday = addDays(today, -1);
	const earlier = await createRun(
		`, dates: { start: "${yesterday}", end: "${yesterday}" }`,
	);
	await condition(earlier, "Complete");
	// Today's rows are as they were.
	expect(await orders()).toHaveLength(1);
	const end = utcDate(Date.now());
	const current = await createRun(
		`, dates: { start: "${today}", end: "${end}" }`,
	);
	await condition(current, "Complete");
	expect(await statusOf(current)).toMatchObject({
		rows: 2,
		dates: { start: today, end },
	});
	expect(await orders()).toHaveLength(2);
});

test("a Run for dates that are no longer retained fails, and says which dates are", async () => {
	const run = await createRun(
		', dates: { start: "2020-01-01", end: "2020-01-02" }',
	);
	await condition(run, "Failed");
	const { phase, error } = await statusOf(run);
	expect([phase, error?.code]).toEqual(["Failed", "DatesNotRetained"]);
	const days = `(${today}|${utcDate(Date.now())})`;
	expect(error?.message).toMatch(new RegExp(`to ${days}`));
});

test("spec.cancel ends a Run under way, its Job and its process; the next Run loads", async () => {
	await sendEvent(3);
	const { namespace } = (await local.resource<Run>("get", "source/shop"))
		.metadata;
	const file = join(local.home, "warehouse", namespace!, "warehouse.duckdb");
	// While another process reads the file, a load waits.
	const reader = await DuckDBInstance.create(file, {
		access_mode: "READ_ONLY",
	});
	const run = await createRun();
	const pods = () =>
		kubectl(
			"get",
			"pods",
			"-l",
			`tidemill.dev/run=${run.split("/")[1]}`,
			"-o",
			"jsonpath={.items[*].status.phase}",
		);
	await vi.waitFor(async () => expect(await pods()).toBe("Running"), soon);
	await kubectl("patch", run, "--type=merge", '-p={"spec":{"cancel":true}}');
	await condition(run, "Failed");
	expect(await statusOf(run)).toMatchObject({ phase: "Cancelled" });
	await vi.waitFor(async () => expect(await pods()).toBe(""), soon);
	expect(await kubectl("get", "jobs", "-o", "name")).toBe("");
	reader.closeSync();
	expect(await orders()).toHaveLength(2);
	await condition(await createRun(), "Complete");
	expect(await orders()).toHaveLength(3);
});

test("a table of somebody else is left alone until the Pipeline adopts it, and a Pipeline that is applied again has its own", async () => {
	const { namespace } = (await local.resource<Run>("get", "source/shop"))
		.metadata;
	const file = join(local.home, "warehouse", namespace!, "warehouse.duckdb");
	const warehouse = await DuckDBInstance.create(file);
	const people = await warehouse.connect();
	await people.run(
		`create table theirs as select 'theirs' as event_id, timestamptz '2020-01-01 12:00:00+00' as timestamp, '{}' as body, d::date as date from (values ('${today}'), ('2020-01-01')) days(d)`,
	);
	people.closeSync();
	warehouse.closeSync();
	const theirs = () =>
		quickstart.query<{ event_id: string; date: string }>(
			"select event_id, date::varchar as date from theirs order by all",
		);
	const before = await theirs();
	const apply = (name: string, more = "") =>
		local.run(
			"sh",
			"-c",
			'printf "%s" "$0" | kubectl apply -f -',
			`{ apiVersion: tidemill.dev/v1alpha1, kind: Pipeline, metadata: { name: ${name} }, spec: { sourceRef: { name: shop }, destinationRef: { name: warehouse }${more} } }`,
		);
	const run = async (pipeline: string) => {
		const name = `run/${pipeline}-${Math.random().toString(36).slice(2)}`;
		await local.run(
			"sh",
			"-c",
			'printf "%s" "$0" | kubectl create -f -',
			`{ apiVersion: tidemill.dev/v1alpha1, kind: Run, metadata: { name: ${name.slice(4)} }, spec: { pipelineRef: { name: ${pipeline} } } }`,
		);
		return name;
	};
	await apply("theirs");
	const refused = await run("theirs");
	await condition(refused, "Failed");
	expect((await statusOf(refused)).error?.code).toBe("TableNotOurs");
	await condition("pipeline/theirs", "Ready=False");
	const described = await kubectl("describe", "pipeline/theirs");
	for (const words of ["TableNotOurs", "spec.table.name", "adopt: true"])
		expect(described).toContain(words);
	expect(await theirs()).toEqual(before);

	await apply("theirs", ", table: { adopt: true }");
	await condition("pipeline/theirs", "Ready");
	await condition(await run("theirs"), "Complete");
	const rows = await theirs();
	expect(rows.filter(({ event_id }) => event_id === "theirs")).toEqual([
		{ event_id: "theirs", date: "2020-01-01" },
	]);
	expect(rows).toHaveLength(4);

	await kubectl("delete", "pipeline/orders", "--wait");
	await apply("orders");
	await condition("pipeline/orders", "Ready");
	await condition(await createRun(), "Complete");
	expect(await orders()).toHaveLength(3);
});

/** The output of `tidemill …` and its exit code, with `input` on standard input. */
function tidemill(input: string, ...args: string[]): Promise<string> {
	const script = 'printf "%s" "$0" | tidemill "$@" 2>&1; echo "exit $?"';
	return local.run("sh", "-c", script, input, ...args);
}

test("a plan is drafted from the stored events, and a dry run tells CI that a stricter one would reject them", async () => {
	const at = ["tracking-plans", "dry-run", "shop", "--file", "-"];
	const pointer = ["--constant", "order"];
	const drafted = await tidemill(
		"",
		"tracking-plans",
		"draft",
		"shop",
		...pointer,
	);
	expect(drafted).toMatch(/\n1 event type from \d+ events?\n/);
	const plan = /apiVersion: [\s\S]*(?=exit 0\n$)/.exec(drafted)![0];
	const strict = plan
		.replace("type: integer", "type: string")
		.replace("  eventType:", "  onViolation: Reject\n  eventType:");
	const blocked = await tidemill(strict, ...at);
	expect(blocked).toMatch(
		/(\d+) events?: 0 planned, .* 0 quarantined, \1 rejected/,
	);
	expect(blocked).toMatch(/^\d+ +order +TypeMismatch +\/order /m);
	expect(blocked).toMatch(/exit 3\n$/);
	expect(await tidemill("", "operations", "list")).toMatch(
		/^shop-\S+ +DryRun +shop +Succeeded +\d+ events?: 0 planned/m,
	);
});
