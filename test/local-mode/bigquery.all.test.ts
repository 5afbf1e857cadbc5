// On a laptop nothing proves this: BigQuery's double is for the warehouse that nobody has here.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
	afterAll,
	beforeAll,
	expect,
	inject,
	onTestFinished,
	test,
	vi,
} from "vitest";
import { Fault } from "../support/doubles/bigquery/fault.ts";
import {
	type BigQueryDouble,
	startBigQueryDouble,
} from "../support/doubles/bigquery/server.ts";
import {
	bigQueryErrors,
	namedJob,
	wordsOfPipeline,
} from "../support/examples/bigquery-errors.ts";
import { send, untilKnown } from "../support/senders/http-client.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

let double: BigQueryDouble;
let local: LocalMode;

beforeAll(async () => {
	double = await startBigQueryDouble("my-project", inject("bigQueryPort"));
	local = await openLocalMode("bigquery");
});

afterAll(() => double?.close());

const resources = (endpoint: string) => `apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: shop }
spec: { type: Webhook, webhook: {} }
---
apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: lake }
spec:
  type: BigQuery
  bigQuery:
    projectId: my-project
    dataset: events
    createDataset: true
    apiEndpoint: ${endpoint}
    credentials: { secretRef: { name: google, key: key.json } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Pipeline
metadata: { name: orders }
spec:
  sourceRef: { name: shop }
  destinationRef: { name: lake }
  runTemplate: { retries: 0 }
`;

function conditionOf(kind: string, name: string, type = "Ready") {
	return local
		.resource<{
			status?: {
				conditions?: { type: string; reason: string; message: string }[];
			};
		}>("get", kind, name)
		.then(({ status }) =>
			status?.conditions?.find((condition) => condition.type === type),
		);
}

function end(name: string, condition: string): Promise<string> {
	return local.run(
		"kubectl",
		"wait",
		`--for=condition=${condition}`,
		"--timeout=120s",
		`run/${name}`,
	);
}

async function createRun(name: string): Promise<void> {
	const file = join(await temporaryDirectory("run"), "run.json");
	await writeFile(
		file,
		JSON.stringify({
			apiVersion: "tidemill.dev/v1alpha1",
			kind: "Run",
			metadata: { name },
			spec: { pipelineRef: { name: "orders" } },
		}),
	);
	await local.run("kubectl", "create", "-f", file);
}

test("a webhook becomes a row in BigQuery", async () => {
	const directory = await temporaryDirectory("bigquery");
	const [yaml, key] = ["all.yaml", "key.json"].map((name) =>
		join(directory, name),
	) as [string, string];
	await writeFile(yaml, resources(double.endpoint));
	await writeFile(key, double.keyJson);
	await local.run("kubectl", "apply", "-f", yaml);
	const reason = (expected: string) =>
		vi.waitFor(
			async () =>
				expect(await conditionOf("destination", "lake")).toMatchObject({
					reason: expected,
				}),
			{ timeout: 120_000, interval: 200 },
		);
	await reason("SecretNotFound");
	const secret = `--from-file=key.json=${key}`;
	await local.run("kubectl", "create", "secret", "generic", "google", secret);
	await local.run(
		"kubectl",
		"label",
		"secret",
		"google",
		"tidemill.dev/use=true",
	);
	await reason("Verified");
	expect(double.warehouse.datasets.get("events")).toBe("EU");

	// Its URL comes at its own time.
	const isReady = ["--for=condition=Ready", "--timeout=120s"];
	await local.run("kubectl", "wait", ...isReady, "source/shop");
	const { status } = await local.resource<{ status: { webhookURL: string } }>(
		"get",
		"source",
		"shop",
	);
	await untilKnown(status.webhookURL);
	const { json } = await send(status.webhookURL, {
		headers: { "content-type": "application/json" },
		body: '{"order": 1}',
	});
	await createRun("first");
	await end("first", "Complete");
	expect(await double.sql("select event_id, body from events.orders")).toEqual([
		[json.event_id, '{"order": 1}'],
	]);
});

test("while a Run loads, its log and the API say how far it is", async () => {
	double.jobs.held = true;
	onTestFinished(() => {
		double.jobs.held = false;
	});
	await createRun("slow");
	const progress = { daysDone: 0, daysTotal: 1, rowsDone: 0, rowsTotal: 1 };
	const scope = ["--scope", "read"];
	const token = await local.run("tidemill", "tokens", "create", "me", ...scope);
	// Progress is in the log of the Run's Pod.
	await local.run(
		"kubectl",
		"create",
		"rolebinding",
		"logs-of-pods",
		"--clusterrole=view",
		`--serviceaccount=${local.namespace}:tidemill-token-me`,
	);
	const curl = (path: string) =>
		local.run(
			"sh",
			"-c",
			`curl -sS -H "Authorization: Bearer $0" "$TIDEMILL_API_URL${path}"`,
			token.trim(),
		);
	await vi.waitFor(
		async () =>
			expect(JSON.parse(await curl("/runs/slow/progress"))).toEqual({
				status: "Running",
				...progress,
			}),
		{ timeout: 120_000, interval: 200 },
	);
	const log = await local.run("kubectl", "logs", "job/slow");
	const line = log.split("\n").find((text) => text.includes("daysDone"));
	expect(JSON.parse(line ?? "{}")).toMatchObject(progress);
	await local.run(
		"kubectl",
		"patch",
		"run",
		"slow",
		"--type=merge",
		'--patch={"spec":{"cancel":true}}',
	);
	await local.run(
		"kubectl",
		"wait",
		"--for=jsonpath={.status.phase}=Cancelled",
		"--timeout=120s",
		"run/slow",
	);
});

// Every reason's way through load is in test/data-plane/bigquery-requests.all.test.ts, through the operator's decisions in generate/.
test("a request that BigQuery refuses, and a job that it fails: the Pipeline says the reason as the reference has it", async () => {
	const before = await double.sql("from events.orders");
	const errors = bigQueryErrors.filter(({ reason }) =>
		["accessDenied", "invalid"].includes(reason),
	);
	expect(errors.map(({ status }) => status)).toEqual([403, 0]);
	for (const error of errors) {
		const { status, reason, message } = error;
		const fault = new Fault(status, reason, message);
		if (status === 0) double.jobs.failure = fault;
		else
			double.onRequest = ({ path }) =>
				path.startsWith("/upload/") ? fault : undefined;
		const run = `run-${reason.toLowerCase()}`;
		await createRun(run);
		await end(run, "Failed");
		await vi.waitFor(
			async () => {
				const said = await local.run(
					"kubectl",
					"describe",
					"pipeline",
					"orders",
				);
				expect(namedJob.test(said)).toBe(status === 0);
				expect(said.replace(namedJob, "")).toContain(
					wordsOfPipeline(error, run),
				);
			},
			{ timeout: 120_000, interval: 200 },
		);
		expect(await double.sql("from events.orders")).toEqual(before);
		double.jobs.failure = undefined;
		double.onRequest = () => undefined;
	}
});

test("a quota that is used up: the Run waits, and says the reason and when it tries again", async () => {
	double.jobs.failure = new Fault(
		0,
		"quotaExceeded",
		"Quota exceeded: imports",
	);
	onTestFinished(() => {
		double.jobs.failure = undefined;
	});
	await createRun("waiting");
	await vi.waitFor(
		async () =>
			expect(await conditionOf("run", "waiting", "Complete")).toMatchObject({
				reason: "WaitingForQuota",
				message: expect.stringContaining("Quota exceeded: imports"),
			}),
		{ timeout: 120_000, interval: 200 },
	);
	const { status } = await local.resource<{
		status: { phase: string; retryTime?: string };
	}>("get", "run", "waiting");
	expect(status.phase).toBe("Pending");
	expect(Date.parse(status.retryTime ?? "")).toBeGreaterThan(Date.now());
});
