// In make test: test/control-plane/api.laptop.test.ts
import {
	afterAll,
	beforeAll,
	expect,
	inject,
	onTestFinished,
	test,
	vi,
} from "vitest";
import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import {
	type ApiClient,
	apiClient,
	newAccount,
	startApi,
	type TestApi,
	tokenOf,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { startAdmissionWebhook } from "../support/servers/admission-webhook.ts";
import { kubectlDone } from "../support/servers/kubectl.ts";

const admin = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));

let api: TestApi;
let account: string;
let runner: ApiClient;
let viewer: ApiClient;
let logReader: ApiClient;
let tokens: Awaited<ReturnType<typeof newAccount>>["tokens"];

beforeAll(async () => {
	api = await startApi();
	const made = await newAccount();
	account = made.account;
	runner = apiClient(api.url, made.tokens.runner);
	viewer = apiClient(api.url, made.tokens.viewer);
	tokens = made.tokens;
	logReader = apiClient(
		api.url,
		await tokenOf(
			account,
			"log-reader",
			"tidemill-viewer",
			"tidemill-log-reader",
		),
	);
});

afterAll(() => api.api.close());

test("runs are listed newest first, whoever made them, and those of a pipeline or a status alone", async () => {
	await byKubectl("of-a", "a");
	await pipelineNamed("b");
	const { body } = await runner("POST", "/v1/pipelines/b/run");
	const times = new Map<string, string>();
	for (const name of ["of-a", body.name]) {
		const run = await admin.get<Run>(runKind, name, account);
		times.set(name, `${run!.metadata.creationTimestamp} ${name}`);
	}
	const [older, newer] = [...times]
		.sort(([, one], [, other]) => (one < other ? -1 : 1))
		.map(([name]) => name);
	const all = await runner("GET", "/v1/runs");
	expect(all.body.items.map(({ name }) => name)).toEqual([newer, older]);
	expect(all.body.total).toBe(2);
	const ofA = await viewer("GET", "/v1/runs?pipeline=a");
	expect(ofA.body.items).toEqual([
		expect.objectContaining({ name: "of-a", pipeline: "a", status: "Pending" }),
	]);
	const first = await viewer("GET", "/v1/runs?limit=1");
	const cursor = encodeURIComponent(first.body.cursor!);
	const second = await viewer("GET", `/v1/runs?limit=1&cursor=${cursor}`);
	expect(second.body.items.map(({ name }) => name)).toEqual([older]);

	await setPhase("of-a", "Failed");
	const failed = await viewer("GET", "/v1/runs?status=Failed");
	expect(failed.body.items.map(({ name }) => name)).toEqual(["of-a"]);
	const both = await viewer("GET", "/v1/runs?status=Failed&pipeline=b");
	expect(both.body.items).toEqual([]);
	const wrong = await viewer("GET", "/v1/runs?status=failed");
	expect(wrong.body.details).toMatchObject([{ path: "status" }]);
});

test("a run whose write an admission webhook stops is a 503 with the cluster's words, and no address of its own", async () => {
	await pipelineNamed("refused");
	const webhook = await startAdmissionWebhook(
		admin,
		inject("pki").ca,
		account,
		[{ apiGroups: ["tidemill.dev"], resources: ["runs"] }],
	);
	onTestFinished(() => webhook.stop());
	const { status, body } = await vi.waitFor(
		async () => {
			const answer = await runner("POST", "/v1/pipelines/refused/run");
			expect(answer.status).toBe(503);
			return answer;
		},
		{ timeout: 120_000, interval: 50 },
	);
	expect(status).toBe(503);
	expect(body.code).toBe("Unavailable");
	expect(body.detail).toContain('failed calling webhook "policy.example.com"');
	expect(body.detail).not.toContain(webhook.address);
	webhook.answer = "permits";
	expect((await runner("POST", "/v1/pipelines/refused/run")).status).toBe(202);
});

test.each(["a,b", "A", "a b", "", "a%2Cspec.x%3Dy"])(
	"a list of the pipeline %j is refused",
	async (pipeline) => {
		const answer = await viewer("GET", `/v1/runs?pipeline=${pipeline}`);
		expect(answer.status).toBe(400);
		expect(answer.body.details).toMatchObject([{ path: "pipeline" }]);
	},
);

test("a run of a pipeline that can't run is 409 with the pipeline's reason, and waits if it is told to", async () => {
	const name = "blocked";
	const namespace = account;
	await pipelineNamed(name);
	const message = 'There is no Destination "d" in this namespace.';
	const ready = {
		type: "Ready",
		status: "False",
		reason: "DestinationNotFound",
		message,
		observedGeneration: 1,
		lastTransitionTime: "2026-01-01T00:00:00Z",
	} as const;
	await admin.applyStatus<Pipeline>(
		pipelineKind,
		{ metadata: { name, namespace }, status: { conditions: [ready] } },
		{ fieldManager: "test" },
	);
	const path = "/v1/pipelines/blocked/run";
	const refused = await runner("POST", path);
	expect([refused.status, refused.body.code]).toEqual([
		409,
		"PipelineNotReady",
	]);
	expect(refused.body.detail).toContain(`(DestinationNotFound): ${message}`);
	expect((await viewer("GET", "/v1/runs?pipeline=blocked")).body.items).toEqual(
		[],
	);
	const queued = await runner("POST", `${path}?queue=true`);
	expect([queued.status, queued.body.status]).toEqual([202, "Pending"]);
	const absent = await runner("POST", "/v1/pipelines/none/run?queue=true");
	expect(absent.status).toBe(404);
});

test("a run can be cancelled, also twice, but not with read permission only", async () => {
	await byKubectl("to-cancel", "a");
	const path = "/v1/runs/to-cancel/cancel";
	expect((await viewer("POST", path)).status).toBe(403);
	for (const attempt of [1, 2]) {
		const { status, body } = await runner("POST", path);
		expect({ attempt, status }).toEqual({ attempt, status: 202 });
		expect(body).toMatchObject({ status: "Pending", cancel: true });
	}
	const run = await admin.get<Run>(runKind, "to-cancel", account);
	expect(run?.spec.cancel).toBe(true);
	await setPhase("to-cancel", "Cancelled");
	expect((await runner("POST", path)).body.status).toBe("Cancelled");
});

test("a run that has ended can't be cancelled", async () => {
	await byKubectl("ended", "a");
	await setPhase("ended", "Succeeded", {
		completionTime: "2026-01-01T00:00:00Z",
	});
	const { status, body } = await runner("POST", "/v1/runs/ended/cancel");
	expect([status, body.code]).toEqual([409, "Conflict"]);
	expect((await runner("POST", "/v1/runs/none/cancel")).status).toBe(404);
});

test("a run without a Pod has no log, and its progress is its status", async () => {
	await byKubectl("no-pod", "a");
	const log = await logReader("GET", "/v1/runs/no-pod/logs");
	expect(log.status).toBe(404);
	expect(log.body.detail).toContain("has no log");
	const progress = await logReader("GET", "/v1/runs/no-pod/progress");
	expect(progress.body).toEqual({ status: "Pending" });
	expect((await logReader("GET", "/v1/runs/none/logs")).status).toBe(404);
	expect((await logReader("GET", "/v1/runs/no-pod/logs?tail=0")).status).toBe(
		400,
	);
});

test.each(["viewer", "editor", "runner"] as const)(
	"a %s doesn't read the logs of the namespace's Pods, and so none of a run",
	async (role) => {
		await byKubectl(`private-${role}`, "a");
		const client = apiClient(api.url, tokens[role]);
		for (const part of ["logs", "progress"]) {
			const { status, body } = await client(
				"GET",
				`/v1/runs/private-${role}/${part}`,
			);
			expect(status).toBe(403);
			expect(body.detail).toContain('lacks the right "list" on pods');
		}
	},
);

test("what a run has loaded is its progress when it has ended", async () => {
	await byKubectl("whole", "a");
	await setPhase("whole", "Succeeded", { rows: 329 });
	const { body } = await viewer("GET", "/v1/runs/whole/progress");
	expect(body).toEqual({ status: "Succeeded", rowsDone: 329, rowsTotal: 329 });
});

function pipelineNamed(name: string) {
	const spec = { sourceRef: { name: "s" }, destinationRef: { name: "d" } };
	return admin.create<Pipeline>(pipelineKind, {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Pipeline",
		metadata: { name, namespace: account },
		spec: spec as Pipeline["spec"],
	});
}

function byKubectl(name: string, pipeline: string) {
	return kubectlDone(
		["create", "--filename=-"],
		JSON.stringify({
			apiVersion: "tidemill.dev/v1alpha1",
			kind: "Run",
			metadata: { name, namespace: account },
			spec: { pipelineRef: { name: pipeline } },
		}),
	);
}

function setPhase(
	name: string,
	phase: NonNullable<Run["status"]>["phase"] & string,
	rest: Run["status"] = {},
) {
	return admin.applyStatus<Run>(
		runKind,
		{
			metadata: { name, namespace: account },
			status: { phase, ...rest },
		},
		{ fieldManager: "test" },
	);
}
