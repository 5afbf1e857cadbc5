// In make test: operator/health.test.ts
import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
	type Source,
	sourceKind,
} from "../../crds/generated/types.ts";
import { annotation } from "../../crds/labels.ts";
import { NatsProgress } from "../../ingest/archive/write/nats-progress.ts";
import { freePort } from "../../local/machine/ports.ts";
import { framesSubject } from "../../packages/contracts/nats.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { firing, scrape } from "../support/alerts/firing.ts";
import { commandsIn, runbookOf } from "../support/alerts/runbook.ts";
import {
	dailyLoad,
	OperatorWorld,
} from "../support/fixtures/control-plane/operator-world.ts";
import {
	connectAdmin,
	createShardStream,
} from "../support/fixtures/data-plane/receiver.ts";
import { kubectl, kubectlDone } from "../support/servers/kubectl.ts";
import type { TidemillProcess } from "../support/servers/tidemill-process.ts";

/* Each reason is caused on real servers, and what the operator then tells Prometheus fires the alert. */

const soon = { timeout: 120_000, interval: 50 };
const dayMs = 86_400_000;

let world: OperatorWorld;
let namespace: string;
let admin: NatsConnection;
let stream: string;
let leader: TidemillProcess;
let health: string;

beforeAll(async () => {
	world = await OperatorWorld.start();
	[namespace = ""] = await world.namespaces(1);
	admin = await connectAdmin(world.nats);
	stream = await createShardStream(admin, { max_bytes: 100_000 });
	[leader, health] = await startOperator();
	await world.apply(namespace, dailyLoad);
	await vi.waitFor(async () => {
		const { status } = await world.pipelineIn(namespace);
		expect(status?.phase).toBe("Ready");
	}, soon);
});

afterAll(async () => {
	await admin?.close();
	await world?.stop();
});

async function startOperator(
	namespaces = [namespace],
): Promise<[TidemillProcess, string]> {
	const port = await freePort();
	const process = world.startOperator(namespaces, {
		throughProxy: true,
		env: {
			HEALTH_PORT: String(port),
			LOG_LEVEL: "info",
			TIDEMILL_SHARDS: "2",
			TIDEMILL_JOB_LABELS: "ends-with,unfit",
		},
	});
	return [process, `http://127.0.0.1:${port}`];
}

/** The alerts that fire if it stays as it is. */
const alerts = async () => firing(await scrape(health));

/** Waits until this alert fires, among others that the test's earlier reasons may have left. */
function fires(alert: string): Promise<void> {
	return vi.waitFor(async () => expect(await alerts()).toContain(alert), {
		...soon,
		interval: 500,
	});
}

const onlyFire = (...expected: string[]) =>
	vi.waitFor(async () => expect(await alerts()).toEqual(expected), {
		...soon,
		interval: 500,
	});
const silent = () => onlyFire();

const pipelineYaml = (name: string, more: string) => `
apiVersion: tidemill.dev/v1alpha1
kind: Pipeline
metadata: { name: ${name} }
spec:
  sourceRef: { name: orders }
  destinationRef: { name: lake }
  ${more}
`;

const sourceYaml = (name: string) => `
apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: ${name} }
spec: { type: Webhook }
`;

const sourceOf = async (name: string): Promise<Source> =>
	(await world.client.get<Source>(sourceKind, name, namespace))!;

const runYaml = (pipeline: string, name: string) => `
---
apiVersion: tidemill.dev/v1alpha1
kind: Run
metadata: { name: ${name} }
spec: { pipelineRef: { name: ${pipeline} } }
`;

test("where all is well no alert fires", async () => {
	await silent();
});

test("events that no archive takes away fire the alerts about the lag and the buffer, though no archive runs", async () => {
	for (let frame = 0; frame < 7; frame++)
		await admin.request(framesSubject(0), Buffer.alloc(10_000));
	const before = await scrape(health);
	expect(await firing(before)).toContain("TidemillBufferFills");
	// A few seconds of lag are no reason, but this one goes on.
	expect(await firing(before)).not.toContain("TidemillArchiveLags");
	expect(await firing(await scrape(health), before)).toContain(
		"TidemillArchiveLags",
	);
	// The people of the Source see it, too, and a new Source keeps off that shard.
	await vi.waitFor(async () => {
		const { status } = await sourceOf("orders");
		expect(status?.shard).toBe(0);
		expect(status?.conditions).toContainEqual(
			expect.objectContaining({ type: "BufferFills", status: "True" }),
		);
	}, soon);
	const names = ["first", "second"];
	await world.apply(namespace, names.map(sourceYaml).join("---"));
	for (const name of names)
		await vi.waitFor(async () => {
			expect((await sourceOf(name)).status?.shard).toBe(1);
		}, soon);
	const { streams } = await jetstreamManager(admin, { checkAPI: false });
	await streams.purge(stream);
	await silent();
});

/** Waits until `kubectl get source` says so, and `kubectl describe` and `tidemill doctor` why. */
async function showsReady(status: string, reason: string, note?: string) {
	await vi.waitFor(async () => {
		const of = ["source", "orders", "--namespace", namespace];
		const { stdout: row } = await kubectl(["get", ...of, "--no-headers"]);
		expect(row.split(/ +/)[2]).toBe(status);
		const { stdout: described } = await kubectl(["describe", ...of]);
		expect(described).toMatch(new RegExp(`Reason: +${reason}$`, "m"));
		const { metadata } = (await world.client.get(
			kinds.lease,
			"tidemill-operator",
			namespace,
		))!;
		expect(metadata.annotations?.[annotation.stoppedShards]).toBe(note);
	}, soon);
}

test("a full buffer and a shard in alarm make their Sources Ready=False, and are on the Lease for tidemill doctor, until they are over", async () => {
	const shards = await NatsProgress.open(world.archive, 1);
	await shards.setStopped(0, { alarm: "CutMismatch" });
	await showsReady("False", "ArchiveStopped", '{"0":"CutMismatch"}');
	await shards.setStopped(0, {});
	await showsReady("True", "ArchiveFails", '{"0":"ArchiveFails"}');
	await shards.setStopped(0, undefined);
	await showsReady("True", "Active");

	for (const bytes of [...Array(9).fill(10_000), 6_000])
		await admin.request(framesSubject(0), Buffer.alloc(bytes));
	await showsReady("False", "BufferFull", '{"0":"BufferFull"}');
	const { streams } = await jetstreamManager(admin, { checkAPI: false });
	await streams.purge(stream);
	await showsReady("True", "Active");
});

test.each([
	["DestinationBusy", "TidemillRunFailed"],
	["ObjectMismatch", "TidemillLedgerMismatch"],
])(
	"a Run that fails with %s fires %s until one succeeds",
	async (code, alert) => {
		const name = code.toLowerCase();
		await world.apply(
			namespace,
			pipelineYaml(
				name,
				`runTemplate: { retries: 0, labels: { ends-with: ${code} } }`,
			) + runYaml(name, `${name}-first`),
		);
		await fires(alert);
		expect(await alerts()).toEqual([alert]);
		await world.client.patch<Pipeline>(
			pipelineKind,
			name,
			namespace,
			{ spec: { runTemplate: { labels: { "ends-with": null } } } },
			"merge",
		);
		await world.apply(namespace, runYaml(name, `${name}-second`));
		await vi.waitFor(async () => {
			const run = await world.client.get<Run>(
				runKind,
				`${name}-second`,
				namespace,
			);
			expect(run?.status?.phase).toBe("Succeeded");
		}, soon);
		await silent();
	},
);

test("values that don't fit their column show in the status, kubectl and TidemillValuesUnfit, until a Run's values fit", async () => {
	const columns =
		"table: { bodyColumns: [{ name: total, bodyPointer: /total, type: Integer }] }";
	const labelled = (unfit: number) =>
		`${columns}\n  runTemplate: { labels: { unfit: "${unfit}" } }`;
	await world.apply(
		namespace,
		pipelineYaml("odd", labelled(4)) + runYaml("odd", "odd-first"),
	);
	const seen = () => world.client.get<Pipeline>(pipelineKind, "odd", namespace);
	const valuesAre = async (status: "True" | "False") =>
		vi.waitFor(async () => {
			const found = (await seen())?.status?.conditions?.find(
				({ type }) => type === "ValuesFit",
			);
			expect(found?.status).toBe(status);
			return found!.message;
		}, soon);
	expect(await valuesAre("False")).toContain(
		'4 of 4 values of column "total" (100 %) don\'t fit its type, such as that of event event-1.',
	);
	const run = await world.client.get<Run>(runKind, "odd-first", namespace);
	expect(run?.status).toMatchObject({
		phase: "Succeeded",
		unfitValues: [{ column: "total", rows: 4, values: 4, eventID: "event-1" }],
	});
	await onlyFire("TidemillValuesUnfit");
	await world.apply(
		namespace,
		pipelineYaml("odd", labelled(0)) + runYaml("odd", "odd-second"),
	);
	await valuesAre("True");
	await silent();
});

test("a Pipeline without its Source fires TidemillResourcesNotReady, and TidemillPipelineLate once its scheduled Run can't start", async () => {
	await world.apply(
		namespace,
		pipelineYaml("late", "schedule: { type: Interval, interval: 15m }").replace(
			"name: orders",
			"name: missing",
		),
	);
	await vi.waitFor(async () => {
		const pipeline = await world.client.get<Pipeline>(
			pipelineKind,
			"late",
			namespace,
		);
		expect(pipeline?.status?.schedule).toBeDefined();
	}, soon);
	await onlyFire("TidemillResourcesNotReady");
	const since = new Date(Date.now() - dayMs).toISOString().replace(/\.\d+/, "");
	// A write of the operator's may be under way, and put back what it knew.
	await vi.waitFor(
		async () => {
			await world.client.patch<Pipeline>(
				pipelineKind,
				"late",
				namespace,
				{ status: { schedule: { since } } },
				"merge",
				{ subresource: "status" },
			);
			expect(await alerts()).toEqual([
				"TidemillPipelineLate",
				"TidemillResourcesNotReady",
			]);
		},
		{ ...soon, interval: 500 },
	);
	await world.client.patch<Pipeline>(
		pipelineKind,
		"late",
		namespace,
		{ spec: { suspend: true } },
		"merge",
	);
	await onlyFire("TidemillResourcesNotReady");
	await world.client.delete(pipelineKind, "late", namespace);
	await silent();
});

test("a token of the REST API that expires soon fires TidemillTokenExpires, and one that lives on doesn't", async () => {
	const binding = (name: string, days: number) => `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: tidemill-token-${name}
  labels: { tidemill.dev/token: read }
  annotations: { tidemill.dev/token-expires: "${new Date(Date.now() + days * dayMs).toISOString()}" }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view }
`;
	await world.apply(namespace, binding("lasting", 90));
	await vi.waitFor(async () => {
		const { texts } = await scrape(health);
		expect(texts[0]).toContain('token="lasting"');
	}, soon);
	expect(await alerts()).toEqual([]);
	await world.apply(namespace, binding("ending", 2));
	await fires("TidemillTokenExpires");
});

/** Whether Kubernetes lets anybody write the status of a Source of this name. */
const statusPolicy = (name: string, isAllowed: boolean) => `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: { name: ${name}-${namespace} }
spec:
  matchConstraints:
    resourceRules:
      - { apiGroups: [tidemill.dev], apiVersions: ["*"], operations: [UPDATE], resources: [sources/status], resourceNames: [${name}] }
  validations:
    - { expression: "${isAllowed}", message: nobody writes it }
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: { name: ${name}-${namespace} }
spec:
  policyName: ${name}-${namespace}
  validationActions: [Deny]
  matchResources:
    namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: ${namespace} } }
`;

test("a Source whose status Kubernetes refuses stays Ready and fires TidemillOperatorFails, whose runbook finds it, until the status is let in", async () => {
	const log: string[] = [];
	leader.onLine = (line) => log.push(line);
	await world.apply(namespace, sourceYaml("refused"));
	await vi.waitFor(async () => {
		expect((await sourceOf("refused")).status?.phase).toBe("Active");
	}, soon);
	await world.apply(namespace, statusPolicy("refused", false));
	// The apiserver takes a moment to know the policy. A new URL changes the status, once the Secret that has it is read.
	let rotations = 0;
	await vi.waitFor(
		async () => {
			const rotation = String(rotations++);
			await world.client.patch<Source>(
				sourceKind,
				"refused",
				namespace,
				{ metadata: { annotations: { [annotation.rotateURL]: rotation } } },
				"merge",
			);
			expect(log.join()).toContain("nobody writes it");
		},
		{ ...soon, interval: 3_000 },
	);
	expect((await sourceOf("refused")).status?.conditions).toContainEqual(
		expect.objectContaining({ type: "Ready", status: "True" }),
	);
	const before = await scrape(health);
	expect(await firing(before)).not.toContain("TidemillOperatorFails");
	// Once it was refused again.
	await vi.waitFor(async () => {
		const alerts = await firing(await scrape(health), before);
		expect(alerts).toContain("TidemillOperatorFails");
	}, 60_000);
	const [look = ""] = commandsIn(runbookOf("TidemillOperatorFails"));
	const [, words = ""] = /grep -E '(.+)'/.exec(look)!;
	const found = log.filter((line) => new RegExp(words).test(line));
	expect(found.map((line) => JSON.parse(line))).toContainEqual(
		expect.objectContaining({
			name: "refused",
			refusal: expect.stringContaining("nobody writes it"),
		}),
	);
	await world.apply(namespace, statusPolicy("refused", true));
	await vi.waitFor(async () => {
		const former = await scrape(health);
		expect(await firing(await scrape(health), former)).not.toContain(
			"TidemillOperatorFails",
		);
	}, soon);
});

test("a watched namespace that doesn't exist fires TidemillNamespaceNotServed, whose runbook shows it, until it is made", async () => {
	const alert = "TidemillNamespaceNotServed";
	const missing = `${namespace}-missing`;
	const [watching, standby] = await startOperator([namespace, missing]);
	await vi.waitFor(async () => {
		expect(await firing(await scrape(standby))).toContain(alert);
	}, soon);
	const look = commandsIn(runbookOf(alert), { "<account>": missing }).find(
		(command) => command.startsWith("kubectl get namespace "),
	)!;
	const { stderr } = await kubectl(look.split(" ").slice(1));
	expect(stderr).toContain(`namespaces "${missing}" not found`);
	await kubectlDone(["create", "namespace", missing]);
	await vi.waitFor(async () => {
		expect(await firing(await scrape(standby))).not.toContain(alert);
	}, soon);
	watching.child.kill("SIGKILL");
	await watching.ended;
});

test("an operator that only stands by fires TidemillOperatorHasNoLeader", async () => {
	const [, standby] = await startOperator();
	await vi.waitFor(async () => {
		const { texts } = await scrape(standby);
		expect(texts[0]).toContain("tidemill_archive_lag_seconds{");
	}, soon);
	expect(await firing(await scrape(health, standby))).not.toContain(
		"TidemillOperatorHasNoLeader",
	);
	leader.child.kill("SIGKILL");
	await leader.ended;
	health = standby;
	await fires("TidemillOperatorHasNoLeader");
});

test("a NATS that doesn't answer fires TidemillArchiveLagUnknown", async () => {
	expect(await alerts()).not.toContain("TidemillArchiveLagUnknown");
	await world.nats.stop();
	await fires("TidemillArchiveLagUnknown");
});
