// In make test: cli/bin/command-line.test.ts
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { beforeAll, expect, inject, onTestFinished, test, vi } from "vitest";
// yaml: reads YAML 1.2 to the letter.
import { parse, stringify } from "yaml";
import type { DoctorFinding } from "../../cli/doctor/finding.ts";
import {
	type Destination,
	destinationKind,
	type Operation,
	operationKind,
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
	type Source,
	sourceKind,
	type TrackingPlan,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";
import { inProcess } from "../support/cli/in-process.ts";
import { newAccount } from "../support/fixtures/control-plane/api-fixture.ts";

const soon = { timeout: 120_000 };
let admin: KubeClient;
let account: string;
let folder: string;

beforeAll(async () => {
	admin = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
	({ account } = await newAccount());
	folder = await mkdtemp(join(tmpdir(), "cli-resources-"));
});

const plan = {
	apiVersion: "tidemill.dev/v1alpha1",
	kind: "TrackingPlan",
	metadata: { name: "example" },
	spec: {
		eventType: { constant: "order" },
		events: [{ type: "order", schema: { type: "object" } }],
	},
};
const operation = {
	apiVersion: "tidemill.dev/v1alpha1",
	kind: "Operation",
	metadata: { name: "example" },
	spec: { type: "Release", sourceRef: { name: "shop" } },
};

test.each([
	["sources", ["example", "--set", "suspend=true"], "source", sourceKind],
	[
		"destinations",
		["example", "--duckdb=a.duckdb", "--set=duckDB.volumeClaimName=a"],
		"destination",
		destinationKind,
	],
	[
		"pipelines",
		["example", "--source=shop", "--destination=lake", "--daily=06:30"],
		"pipeline",
		pipelineKind,
	],
	["tracking-plans", plan, "trackingplan", trackingPlanKind],
	["operations", operation, "operation", operationKind],
] as const)(
	"%s are created, listed, changed and deleted",
	async (noun, settings, word, kind) => {
		const args = Array.isArray(settings)
			? settings
			: ["-f", await manifest(settings)];
		const dry = await tidemill(noun, "create", ...args, "--dry-run");
		expect(dry).toMatchObject({
			stdout: `${word}/example created (dry run)\n`,
		});
		expect(await admin.get(kind, "example", account)).toBeUndefined();

		const created = await tidemill(noun, "create", ...args);
		expect(created).toEqual(said(`${word}/example created\n`));
		const again = await tidemill(noun, "create", ...args);
		expect(again).toMatchObject({
			exitCode: 1,
			stderr: expect.stringContaining('"example" already exists'),
		});

		const list = await tidemill(noun, "list");
		expect(list.stdout).toMatch(/^NAME .*\nexample /);
		const names = await tidemill(noun, "ls", "-o", "name");
		expect(names).toEqual(said(`${word}/example\n`));
		const json = JSON.parse(
			(await tidemill(noun, "list", "-o", "json")).stdout,
		);
		expect(json).toMatchObject({
			kind: "List",
			items: [{ kind: kind.kind, metadata: { name: "example" } }],
		});
		const everywhere = await tidemill(noun, "list", "-A");
		expect(everywhere.stdout).toMatch(/^NAMESPACE +NAME /);
		expect(everywhere.stdout).toMatch(new RegExp(`^${account} +example `, "m"));

		const stored = await admin.get(kind, "example", account);
		const { stdout: yaml } = await tidemill(noun, "list", "-o=yaml");
		const { managedFields: _, ...metadata } = stored!.metadata;
		expect(parse(yaml).items).toEqual([{ ...stored, metadata }]);

		vi.stubEnv(
			"KUBE_EDITOR",
			"sed -i 's/^spec:$/spec:\\n  displayName: Ours/'",
		);
		const edited = await tidemill(noun, "edit", "example");
		vi.unstubAllEnvs();
		expect(edited).toEqual(said(`${word}/example changed\n`));
		const changed = await admin.get<KubeObject & { spec: object }>(
			kind,
			"example",
			account,
		);
		expect(changed!.spec).toMatchObject({ displayName: "Ours" });

		const deleted = await tidemill(noun, "delete", "example", "--wait");
		expect(deleted).toEqual(said(`${word}/example deleted\n`));
		const missing = `there is no ${word.replace("trackingplan", "tracking plan")} "example" in namespace ${account}`;
		for (const verb of ["edit", "delete"])
			expect(await tidemill(noun, verb, "example")).toMatchObject({
				exitCode: 1,
				stderr: expect.stringContaining(missing),
			});
		const forgiven = ["delete", "example", "--ignore-not-found"];
		expect(await tidemill(noun, ...forgiven)).toEqual(said(""));
	},
);

test("a manifest of another kind, and one that the cluster refuses, say so", async () => {
	const other = await tidemill("sources", "create", "-f", await manifest(plan));
	expect(other.stderr).toContain('its kind is "TrackingPlan"');
	const spec = { type: "Webhook", retentionDay: 5 };
	const file = await manifest({ ...plan, kind: "Source", spec });
	const refused = await tidemill("sources", "create", "-f", file);
	expect(refused.stderr).toContain(
		'retentionDay: is not a known field. Did you mean "retentionDays"?',
	);
	expect(refused.exitCode).toBe(1);
});

test("create --wait ends with the URL once the operator has issued it, and with the reason if the source isn't ready", async () => {
	const waiting = tidemill("sources", "create", "waited", "--wait");
	await setStatus<Source>(sourceKind, "waited", {
		webhookURL: "https://hooks.example/1/2",
		conditions: [condition("Ready", "True", "Active", "")],
	});
	expect((await waiting).stdout).toBe(
		"source/waited created\nhttps://hooks.example/1/2\n",
	);
});

test("create --wait ends at once with what only people can fix, and says meanwhile why it waits", async () => {
	// It never gives up by itself.
	vi.spyOn(AbortSignal, "timeout").mockReturnValue(
		new AbortController().signal,
	);
	onTestFinished(() => void vi.restoreAllMocks());
	const args = ["pipelines", "create", "second", "--source=a"];
	const waiting = tidemill(...args, "--destination=b", "--wait");
	const isSaid = (...found: Parameters<typeof condition>) =>
		setStatus<Pipeline>(pipelineKind, "second", {
			conditions: [condition(...found)],
		});
	await isSaid("Ready", "Unknown", "DestinationNotReady", "It is checked.");
	await isSaid("Ready", "False", "TableConflict", "It is of another.");
	const { stderr, exitCode } = await waiting;
	expect(stderr).toContain("isn't ready: It is of another. (TableConflict)");
	expect(exitCode).toBe(1);
});

test("a run that waits for people ends --wait, and stays", async () => {
	await newPipeline("stuck");
	await setStatus<Pipeline>(pipelineKind, "stuck", {
		conditions: [condition("Ready", "False", "TableConflict", "Taken.")],
	});
	const waiting = tidemill("pipelines", "run", "stuck", "--wait");
	const name = await vi.waitFor(async () => {
		const { items } = await admin.list<Run>(runKind, { namespace: account });
		const run = items.find(({ spec }) => spec.pipelineRef.name === "stuck");
		expect(run).toBeDefined();
		return run!.metadata.name;
	}, soon);
	await setStatus<Run>(runKind, name, {
		phase: "Pending",
		conditions: [
			condition("Complete", "False", "PipelineNotReady", "It can't run."),
		],
	});
	const { stderr, exitCode } = await waiting;
	expect(stderr).toContain(`"phase":"Pending","message":"It can't run."`);
	expect(stderr).toContain(
		`${name} waits, and waiting alone doesn't help: It can't run. The run starts once that is fixed. Cancel it with: tidemill runs cancel ${name}`,
	);
	expect(exitCode).toBe(1);
});

test("a namespace that doesn't exist is no empty list", async () => {
	const missing = `${account}x`;
	for (const command of [
		["sources", "ls"],
		["sources", "edit", "a"],
		["pipelines", "list", "--json"],
		["tokens", "list"],
		["tokens", "revoke", "a"],
		["logs", "a"],
		["pipelines", "run", "a"],
	])
		expect(
			await inProcess(
				...command,
				...["-n", missing, "--kubeconfig", inject("kubeconfig")],
			),
		).toMatchObject({
			exitCode: 1,
			stdout: "",
			stderr: expect.stringContaining(
				`there is no namespace "${missing}". Did you mean "${account}"?`,
			),
		});
});

test("a name with a typo brings to mind the one that was meant", async () => {
	await newSource("payments");
	await newPipeline("payments");
	for (const command of [
		["sources", "edit", "paymnets"],
		["sources", "suspend", "payment"],
		["pipelines", "run", "paymets"],
		["logs", "paymnets"],
		["pipelines", "delete", "Payments"],
	])
		expect((await tidemill(...command)).stderr).toContain(
			'Did you mean "payments"?',
		);
});

test("logs stands at the top, too", async () => {
	await newPipeline("toplevel");
	expect((await tidemill("logs", "toplevel")).stderr).toContain(
		'the pipeline "toplevel" has no run yet',
	);
	const run = await tidemill("pipelines", "run", "toplevel");
	await setStatus<Run>(runKind, run.stdout.trim(), {
		phase: "Succeeded",
		completionTime: "2026-01-02T00:00:00Z",
		log: "of the newest\n",
	});
	expect(await tidemill("logs", "toplevel")).toEqual(said("of the newest\n"));
	expect(await tidemill("logs", run.stdout.trim())).toEqual(
		said("of the newest\n"),
	);
});

test("what the cluster refuses is said in words: no pattern, no rule", async () => {
	for (const [schedule, words] of [
		[
			{ type: "Interval", interval: "15" },
			"schedule.interval: must be a time such as 15m or 1h30m",
		],
		[
			{ type: "Daily", updateTime: "6:30" },
			"schedule.updateTime: must be a time of day such as 06:30",
		],
		[
			{ type: "Daily", updateTime: "06:30", interval: "15m" },
			"schedule.interval: interval is required for type Interval and not allowed otherwise; null in a merge patch removes it",
		],
	] as const) {
		const file = await manifest({
			...plan,
			kind: "Pipeline",
			spec: {
				sourceRef: { name: "a" },
				destinationRef: { name: "b" },
				schedule,
			},
		});
		expect(await tidemill("pipelines", "create", "-f", file)).toEqual({
			exitCode: 1,
			stdout: "",
			stderr: `tidemill pipelines create: the Pipeline "example" is invalid:\n  ${words}\n`,
		});
	}
});

test("rotate-url asks the operator once and prints the new URL", async () => {
	await newSource("turning", "https://hooks.example/1/2");
	const rotating = tidemill("sources", "rotate-url", "turning");
	await vi.waitFor(async () => {
		const { metadata } = (await admin.get<Source>(
			sourceKind,
			"turning",
			account,
		))!;
		expect(metadata.annotations?.["tidemill.dev/rotate-url"]).toBeTruthy();
	}, soon);
	await setStatus<Source>(sourceKind, "turning", {
		webhookURL: "https://hooks.example/1/3",
	});
	expect(await rotating).toEqual(said("https://hooks.example/1/3\n"));
});

test("a check of a destination ends with its verdict", async () => {
	const [name, args] = ["lake", ["--duckdb", "lake.duckdb"]];
	await tidemill("destinations", "create", name, ...args);
	const checking = tidemill("destinations", "check", name);
	const request = await vi.waitFor(async () => {
		const { metadata } = (await admin.get(destinationKind, name, account))!;
		const request = metadata.annotations?.["tidemill.dev/check"];
		expect(request).toBeTruthy();
		return request!;
	}, soon);
	await setStatus<Destination>(destinationKind, name, {
		lastCheck: { request },
		conditions: [
			condition("Ready", "False", "CheckFailed", "The disk is full."),
		],
	});
	expect(await checking).toMatchObject({
		exitCode: 1,
		stderr: expect.stringContaining("The disk is full. (CheckFailed)"),
	});
});

test("pipelines and sources are suspended and resumed", async () => {
	await newSource("paused");
	await newPipeline("paused");
	for (const [noun, word, kind] of [
		["sources", "source", sourceKind],
		["pipelines", "pipeline", pipelineKind],
	] as const)
		for (const [verb, suspend] of [
			["suspend", true],
			["resume", false],
		] as const) {
			const done = verb === "suspend" ? "suspended" : "resumed";
			expect(await tidemill(noun, verb, "paused")).toEqual(
				said(`${word}/paused ${done}\n`),
			);
			const stored = await admin.get<Source | Pipeline>(
				kind,
				"paused",
				account,
			);
			expect(stored!.spec.suspend).toBe(suspend);
		}
});

test("a reload is a run of the dates that it names, and needs some", async () => {
	await newPipeline("again");
	const days = ["--from", "2026-01-02", "--to", "2026-01-03"];
	const started = await tidemill("pipelines", "reload", "again", ...days);
	const name = started.stdout.trim();
	const { spec } = (await admin.get<Run>(runKind, name, account))!;
	expect(spec).toEqual({
		pipelineRef: { name: "again" },
		dates: { start: "2026-01-02", end: "2026-01-03" },
	});
	expect(await tidemill("pipelines", "reload", "again")).toMatchObject({
		exitCode: 2,
		stderr: expect.stringContaining("full-reload loads all dates"),
	});
});

test("a full reload is a run of all dates; it is waited for, its log is printed, and it is cancelled", async () => {
	await newPipeline("orders");
	const started = await tidemill("pipelines", "full-reload", "orders");
	const name = started.stdout.trim();
	const run = async () => (await admin.get<Run>(runKind, name, account))!;
	expect((await run()).spec).toMatchObject({ full: true });
	expect((await tidemill("runs", "logs", name)).stderr).toContain(
		"has no log that you may read",
	);
	expect(await tidemill("runs", "cancel", name)).toEqual(
		said(`run/${name} cancelled\n`),
	);
	expect((await run()).spec.cancel).toBe(true);
	await setStatus<Run>(runKind, name, {
		phase: "Failed",
		completionTime: "2026-01-02T00:00:00Z",
		error: { code: "DestinationBusy", message: "busy", retryable: true },
		log: "one\ntwo\nthree\n",
	});
	expect(await tidemill("runs", "wait", name)).toMatchObject({
		exitCode: 1,
		stderr: expect.stringContaining("failed: busy (DestinationBusy)"),
	});
	expect(await tidemill("runs", "logs", name, "--tail", "2")).toEqual(
		said("two\nthree\n"),
	);
	expect((await tidemill("runs", "cancel", name)).stderr).toContain(
		"has already ended: Failed",
	);
});

test("dbt sources prints the tables of a namespace, by destination, for a dbt project", async () => {
	const { account } = await newAccount();
	const kubeconfig = inject("kubeconfig");
	const own = (...args: string[]) =>
		inProcess(...args, "-n", account, "--kubeconfig", kubeconfig);
	const empty = await own("dbt", "sources");
	expect(empty.exitCode).toBe(1);
	expect(empty.stderr).toContain("no pipeline of namespace");
	await own("sources", "create", "shop");
	await own(
		"destinations",
		"create",
		"lake",
		"--duckdb",
		"a/lake.duckdb",
		"--set",
		"duckDB.volumeClaimName=a",
	);
	await own(
		"destinations",
		"create",
		"other",
		"--duckdb",
		"b.duckdb",
		"--set",
		"duckDB.volumeClaimName=b",
	);
	for (const [name, ...more] of [
		[
			"orders",
			"--destination=lake",
			"--every=1h",
			"--body-column=amount=/amount:Integer",
		],
		[
			"late-orders",
			"--destination=other",
			"--set=table.quarantine=true",
			"--set=table.rejectedValues=true",
		],
	] as const)
		await own("pipelines", "create", name, "--source=shop", ...more);
	const printed = await own("dbt", "sources");
	expect(printed.stderr).toBe("");
	expect(printed.stdout).toMatch(/^# Written by: tidemill dbt sources/);
	expect(parse(printed.stdout)).toMatchObject({
		version: 2,
		sources: [
			{
				name: "lake",
				database: "lake",
				schema: "main",
				tables: [
					{
						name: "orders",
						columns: ["event_id", "timestamp", "body", "date", "amount"].map(
							(name) => ({ name }),
						),
						config: {
							loaded_at_field: "timestamp",
							freshness: {
								warn_after: { count: 2, period: "hour" },
								error_after: { count: 4, period: "hour" },
							},
						},
					},
				],
			},
			{
				name: "other",
				tables: [
					{ name: "late_orders", config: { freshness: null } },
					{ name: "late_orders_rejected" },
					{ name: "quarantine_late_orders" },
				],
			},
		],
	});
	const one = await own("dbt", "sources", "--destination", "other");
	expect(parse(one.stdout).sources).toHaveLength(1);
});

test("sql reads the file that the destination names, whatever other files there are", async () => {
	vi.stubEnv("TIDEMILL_HOME", folder);
	onTestFinished(() => void vi.unstubAllEnvs());
	const place = join(folder, "warehouse", account);
	await mkdir(join(place, "deep"), { recursive: true });
	for (const [file, n] of [
		["deep/x.duckdb", 1],
		["wh.duckdb", 2],
	]) {
		const instance = await DuckDBInstance.create(join(place, String(file)));
		const connection = await instance.connect();
		await connection.run(`create table t as select ${n} as n`);
		connection.closeSync();
		instance.closeSync();
	}
	const create = ["destinations", "create"];
	await tidemill(...create, "wh", "--duckdb", "deep/x.duckdb");
	await tidemill(...create, "bq", "--bigquery", "acme-data.events");
	await tidemill(...create, "new", "--duckdb", "new.duckdb");
	const sql = (name: string) =>
		tidemill("sql", "-d", name, "-o=json", "select n from t");
	expect(await sql("wh")).toEqual(said('{"n":1}\n'));
	expect((await sql("bq")).stderr).toContain("--format is for a DuckDB file");
	expect((await sql("none")).stderr).toContain('no destination "none"');
	const unmade = await sql("new");
	expect(unmade.stderr).toContain("The destination's first run creates it");
	expect(unmade.exitCode).toBe(2);
});

test("doctor checks the cluster, and fails if something is wrong", async () => {
	const { stdout, exitCode } = await tidemill("doctor", "-o", "json");
	const found = JSON.parse(stdout) as DoctorFinding[];
	const of = (check: string) => found.find((one) => one.check === check);
	for (const check of ["cluster", "clock", "resources", "rights"])
		expect(of(check)).toMatchObject({ result: "ok" });
	const failed = found.filter(({ result }) => result === "failed");
	expect(exitCode).toBe(failed.length > 0 ? 1 : 0);
	await newSource("ill");
	await setStatus<Source>(sourceKind, "ill", {
		conditions: [condition("Ready", "False", "KeyTaken", "Taken.")],
	});
	const ill = await tidemill("doctor");
	expect(ill.stdout).toContain("✗ source ill: Taken. (KeyTaken)\n");
	expect(ill.stdout).toMatch(/^✓ cluster: Kubernetes v1\.\d+\.\d+ answers$/m);
	expect(ill.exitCode).toBe(1);
});

test("version tells the cluster's, too", async () => {
	const { stdout } = await tidemill("version");
	expect(stdout).toMatch(/^tidemill \d+\.\d+\.\d+\nnode v.*\nkubernetes v1/);
});

test("lists are by namespace, and an empty one says so", async () => {
	const { account: other } = await newAccount();
	const { stdout, stderr } = await inProcess(
		...["tracking-plans", "list", "-n", other],
		...["--kubeconfig", inject("kubeconfig")],
	);
	expect(stdout).toBe("");
	expect(stderr).toBe(`There are no tracking plans in namespace ${other}.\n`);
});

function tidemill(...args: string[]) {
	return inProcess(
		...args,
		...["--namespace", account, "--kubeconfig", inject("kubeconfig")],
	);
}

function said(stdout: string) {
	return { exitCode: 0, stdout, stderr: "" };
}

async function manifest(object: object): Promise<string> {
	const file = join(folder, "manifest.yaml");
	await writeFile(file, stringify(object));
	return file;
}

function condition(
	type: string,
	status: "True" | "False" | "Unknown",
	reason: string,
	message: string,
) {
	const lastTransitionTime = "2026-01-01T00:00:00Z";
	return { type, status, reason, message, lastTransitionTime };
}

async function newSource(name: string, webhookURL?: string): Promise<void> {
	await admin.create<Source>(sourceKind, {
		metadata: { name, namespace: account },
		spec: { type: "Webhook" },
	} as Source);
	if (webhookURL) await setStatus<Source>(sourceKind, name, { webhookURL });
}

async function newPipeline(name: string): Promise<void> {
	await admin.create<Pipeline>(pipelineKind, {
		metadata: { name, namespace: account },
		spec: { sourceRef: { name: "shop" }, destinationRef: { name: "lake" } },
	} as Pipeline);
}

/** Waits for the object, as the operator does. */
async function setStatus<
	T extends Source | Destination | Pipeline | Run | TrackingPlan | Operation,
>(
	kind: {
		group: string;
		version: string;
		kind: string;
		plural: string;
		namespaced: boolean;
	},
	name: string,
	status: NonNullable<T["status"]>,
): Promise<void> {
	await vi.waitFor(async () => {
		expect(await admin.get(kind, name, account)).toBeDefined();
		await admin.applyStatus(
			kind,
			{ metadata: { name, namespace: account }, status },
			{ fieldManager: "test" },
		);
	}, soon);
}
