import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
	chmod,
	mkdir,
	mkdtemp,
	readdir,
	rm,
	writeFile,
} from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { resolveBinaries } from "../../local/binaries.ts";
import { identifyProcess } from "../../local/process-identity.ts";
import { KubeClient } from "../../operator/kube/client.ts";
import { type Job, kinds, type Pod } from "../../operator/kube/kinds.ts";
import { loadKubeConfig } from "../../operator/kube/kube-config.ts";
import { kubectl } from "../kubectl.ts";
import { startProcessNode, type TestProcessNode } from "../process-node.ts";

const client = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
const namespace = `process-node-${randomBytes(4).toString("hex")}`;
const image = "tidemill.test/process-node:1";
const wait = { timeout: 30_000, interval: 50 };

/** What runs as `tidemill` here: a stand-in that does what its first argument says. */
const tidemill = `#!/bin/sh
case "$1" in
succeed)
	echo one; echo two >&2; printf three
	printf '{"rows":3}' > "$RESULT" ;;
show)
	env | sort
	shift
	for file; do echo "$file: $(cat "$file")"; done
	if [ -n "$STORE" ]; then echo kept > "$STORE/file"; fi ;;
permanent) echo "of no use" >&2; exit 65 ;;
wait)
	trap 'echo asked to end; exit 3' TERM
	echo "running $$"
	while :; do sleep 0.05; done ;;
stubborn)
	trap '' TERM
	echo "running $$"
	while :; do sleep 0.05; done ;;
once)
	if [ -e "$STORE/again" ]; then exit 0; fi
	touch "$STORE/again"
	echo "running $$"
	while :; do sleep 0.05; done ;;
esac
`;

let scratch = "";
let node: TestProcessNode;
let firstRenewal: string | undefined;

beforeAll(async () => {
	scratch = await mkdtemp(join(tmpdir(), "tidemill-test-command-"));
	const command = join(scratch, "tidemill");
	await writeFile(command, tidemill);
	await chmod(command, 0o755);
	await client.create(kinds.namespace, { metadata: { name: namespace } });
	node = await startProcessNode({ image, tidemill: command });
	firstRenewal = await renewal();
});

afterAll(async () => {
	await client.delete(kinds.namespace, namespace);
	await node?.stop();
	await rm(scratch, { recursive: true, force: true });
});

type PodSpec = NonNullable<Pod["spec"]>;
type Container = PodSpec["containers"][number];

function podSpec(
	args: string[],
	container: Partial<Container> = {},
	spec: Partial<PodSpec> = {},
): PodSpec {
	return {
		restartPolicy: "Never",
		automountServiceAccountToken: false,
		...spec,
		containers: [
			{ name: "main", image, command: ["tidemill"], args, ...container },
		],
	};
}

async function createPod(name: string, spec: PodSpec): Promise<Pod> {
	return client.create<Pod>(kinds.pod, { metadata: { name, namespace }, spec });
}

async function createJob(
	name: string,
	template: PodSpec,
	spec: Partial<NonNullable<Job["spec"]>> = {},
): Promise<void> {
	await client.create<Job>(kinds.job, {
		metadata: { name, namespace },
		spec: { ...spec, template: { spec: template } } as NonNullable<Job["spec"]>,
	});
}

function untilJob(name: string, condition: "Complete" | "Failed") {
	return vi.waitFor(async () => {
		const job = await client.get(kinds.job, name, namespace);
		const types = job?.status?.conditions?.map(({ type }) => type);
		expect(types).toContain(condition);
		return job!;
	}, wait);
}

function untilPhase(name: string, phase: string): Promise<Pod> {
	return vi.waitFor(async () => {
		const pod = await client.get(kinds.pod, name, namespace);
		expect(pod?.status?.phase).toBe(phase);
		return pod!;
	}, wait);
}

async function podsOf(job: string): Promise<Pod[]> {
	const { items } = await client.list(kinds.pod, {
		namespace,
		labelSelector: `batch.kubernetes.io/job-name=${job}`,
	});
	return items;
}

async function logs(...args: string[]): Promise<string> {
	const answer = await kubectl(["logs", "-n", namespace, ...args]);
	expect(answer).toMatchObject({ exitCode: 0, stderr: "" });
	return answer.stdout;
}

async function renewal(): Promise<string | undefined> {
	const lease = await client.get(
		kinds.lease,
		"tidemill-local",
		"kube-node-lease",
	);
	return lease?.spec?.renewTime;
}

/** The process id that the command printed. */
function untilRunning(pod: string): Promise<number> {
	return vi.waitFor(async () => {
		const match = /^running (\d+)$/m.exec(await logs(pod));
		expect(match).not.toBeNull();
		return Number(match![1]);
	}, wait);
}

function isAlive(pid: number): boolean {
	return identifyProcess(pid) !== undefined;
}

function untilGone(name: string): Promise<void> {
	return vi.waitFor(async () => {
		expect(await client.get(kinds.pod, name, namespace)).toBeUndefined();
	}, wait);
}

test("a Job completes, and its Pod reports what the container left as its last words", async () => {
	const env = [{ name: "RESULT", value: "/dev/termination-log" }];
	await createJob("completes", podSpec(["succeed"], { env }));
	const { status } = await untilJob("completes", "Complete");
	expect(status?.succeeded).toBe(1);
	const [pod] = await podsOf("completes");
	expect(pod?.status).toMatchObject({
		phase: "Succeeded",
		podIP: "127.0.0.1",
		containerStatuses: [
			{
				name: "main",
				state: {
					terminated: {
						exitCode: 0,
						reason: "Completed",
						message: '{"rows":3}',
					},
				},
			},
		],
	});
	expect(await logs(pod!.metadata.name)).toBe("one\ntwo\nthree\n");
	expect(await logs(pod!.metadata.name, "--tail=1")).toBe("three\n");
	expect(await logs(pod!.metadata.name, "--timestamps")).toMatch(
		/^\d{4}-\d\d-\d\dT\S+Z one\n/,
	);
});

test("an exit code that trying again can't help fails the Job at once", async () => {
	await createJob(
		"permanent",
		podSpec(["permanent"], {
			terminationMessagePolicy: "FallbackToLogsOnError",
		}),
		{
			backoffLimit: 5,
			podFailurePolicy: {
				rules: [
					{
						action: "FailJob",
						onExitCodes: {
							containerName: "main",
							operator: "In",
							values: [65],
						},
					},
				],
			},
		},
	);
	const { status } = await untilJob("permanent", "Failed");
	expect(status?.conditions?.map(({ reason }) => reason)).toContain(
		"PodFailurePolicy",
	);
	const pods = await podsOf("permanent");
	expect(pods).toHaveLength(1);
	expect(
		pods[0]?.status?.containerStatuses?.[0]?.state?.terminated,
	).toMatchObject({ exitCode: 65, reason: "Error", message: "of no use\n" });
});

test("a process sees its Pod's variables and volumes, and nothing of the node", async () => {
	await client.create(kinds.secret, {
		metadata: { name: "input", namespace },
		stringData: { "input.json": "the input", key: "the key" },
	});
	await client.create(kinds.configMap, {
		metadata: { name: "config", namespace },
		data: { COLOUR: "blue" },
	});
	const claim = { metadata: { name: "data", namespace } };
	await client.create(kinds.persistentVolumeClaim, {
		...claim,
		spec: {
			accessModes: ["ReadWriteOnce"],
			resources: { requests: { storage: "1Gi" } },
		},
	});
	await createPod(
		"sees",
		podSpec(
			["show", "/var/run/input/input.json"],
			{
				env: [
					{
						name: "KEY",
						valueFrom: { secretKeyRef: { name: "input", key: "key" } },
					},
					{
						name: "MAYBE",
						valueFrom: {
							secretKeyRef: { name: "none", key: "key", optional: true },
						},
					},
					{
						name: "POD",
						valueFrom: { fieldRef: { fieldPath: "metadata.name" } },
					},
					{ name: "GREETING", value: "$(POD) is $(COLOUR) $$(POD)" },
					{ name: "STORE", value: "/store" },
				],
				envFrom: [{ configMapRef: { name: "config" } }],
				volumeMounts: [
					{ name: "input", mountPath: "/var/run/input" },
					{ name: "data", mountPath: "/store" },
				],
			},
			{
				volumes: [
					{ name: "input", secret: { secretName: "input" } },
					{ name: "data", persistentVolumeClaim: { claimName: "data" } },
				],
			},
		),
	);
	await untilPhase("sees", "Succeeded");
	const seen = await logs("sees");
	expect(seen).toContain("/input.json: the input\n");
	expect(seen).toContain("KEY=the key\n");
	expect(seen).toContain("GREETING=sees is blue $(POD)\n");
	const names = seen.match(/^\w+(?==)/gm)!.filter(
		// Made by the shell itself.
		(name) => !["PWD", "OLDPWD", "SHLVL", "_"].includes(name),
	);
	expect(new Set(names)).toEqual(
		new Set([
			...["PATH", "HOME", "LANG"].filter((name) => process.env[name]),
			...["COLOUR", "GREETING", "KEY", "POD", "STORE"],
		]),
	);
	expect(await readdir(join(node.home, "volumes", namespace, "data"))).toEqual([
		"file",
	]);
});

test("a Pod waits for a Secret that isn't there yet, and says so", async () => {
	await createPod(
		"waits",
		podSpec(["show"], { envFrom: [{ secretRef: { name: "later" } }] }),
	);
	await vi.waitFor(async () => {
		const pod = await client.get(kinds.pod, "waits", namespace);
		expect(pod?.status?.containerStatuses?.[0]?.state?.waiting).toEqual({
			reason: "CreateContainerConfigError",
			message: 'secret "later" not found',
		});
	}, wait);
	await client.create(kinds.secret, {
		metadata: { name: "later", namespace },
		stringData: { ANSWER: "here" },
	});
	await untilPhase("waits", "Succeeded");
	expect(await logs("waits")).toContain("ANSWER=here\n");
});

test("a deleted Pod's process is asked to end, and whoever follows its log reads to the end", async () => {
	await createPod("asked", podSpec(["wait"]));
	const pid = await untilRunning("asked");
	const { kubectl: command } = await resolveBinaries(["kubectl"]);
	const follower = spawn(
		command,
		["logs", "asked", "--follow", "-n", namespace],
		{ env: { ...process.env, KUBECONFIG: inject("kubeconfig") } },
	);
	let read = "";
	follower.stdout.on("data", (bytes) => {
		read += bytes;
	});
	await vi.waitFor(() => expect(read).toBe(`running ${pid}\n`), wait);
	await client.delete(kinds.pod, "asked", namespace);
	const [exitCode] = await once(follower, "close");
	expect(exitCode).toBe(0);
	expect(read).toBe(`running ${pid}\nasked to end\n`);
	await untilGone("asked");
	expect(isAlive(pid)).toBe(false);
	await vi.waitFor(async () => {
		const directories = await readdir(join(node.home, "pods"));
		expect(directories.filter((name) => name.includes("_asked_"))).toEqual([]);
	}, wait);
});

test("a process that won't end is killed after the grace period", async () => {
	await createPod(
		"stubborn",
		podSpec(["stubborn"], {}, { terminationGracePeriodSeconds: 1 }),
	);
	const pid = await untilRunning("stubborn");
	await client.delete(kinds.pod, "stubborn", namespace);
	await untilGone("stubborn");
	expect(isAlive(pid)).toBe(false);
});

test("a process that runs longer than its Pod's deadline is ended", async () => {
	await createPod(
		"overdue",
		podSpec(["wait"], {}, { activeDeadlineSeconds: 2 }),
	);
	const pid = await untilRunning("overdue");
	const { status } = await untilPhase("overdue", "Failed");
	expect(status?.reason).toBe("DeadlineExceeded");
	expect(isAlive(pid)).toBe(false);
});

test("a Pod of another image stays pending and says that local mode runs only ours", async () => {
	const spec = podSpec([], { image: "docker.io/library/nginx:1" });
	await createPod("foreign", spec);
	await vi.waitFor(async () => {
		const { stdout } = await kubectl([
			"describe",
			"pod",
			"foreign",
			"-n",
			namespace,
		]);
		expect(stdout).toMatch(/FailedScheduling .*runs only the image/);
	}, wait);
	const pod = await client.get(kinds.pod, "foreign", namespace);
	expect(pod?.status).toMatchObject({
		phase: "Pending",
		conditions: [{ type: "PodScheduled", status: "False" }],
	});
});

test("a shell in a Pod is refused with the reason", async () => {
	await createPod("exec", podSpec(["wait"]));
	await untilRunning("exec");
	const { stderr } = await kubectl([
		...["exec", "-n", namespace, "exec", "--", "date"],
	]);
	expect(stderr).toContain("Local mode has no exec");
	await client.delete(kinds.pod, "exec", namespace);
});

test("the Node is ready and its Lease is renewed", async () => {
	const { stdout } = await kubectl(["get", "node", "tidemill-local"]);
	expect(stdout).toMatch(/tidemill-local\s+Ready/);
	expect(firstRenewal).toBeDefined();
	await vi.waitFor(
		async () => expect(await renewal()).not.toBe(firstRenewal),
		wait,
	);
});

test("logs are served to the apiserver alone", async () => {
	const ask = (user?: "admin" | "kubeletClient") =>
		new Promise<number | string>((resolve) => {
			const pki = inject("pki");
			httpsRequest(
				`https://127.0.0.1:${node.port}/containerLogs/${namespace}/none/main`,
				{
					ca: pki.ca.cert,
					...(user && { cert: pki[user].cert, key: pki[user].key }),
				},
				(response) => resolve(response.resume().statusCode!),
			)
				.on("error", () => resolve("no connection"))
				.end();
		});
	expect(await ask()).toBe("no connection");
	expect(await ask("admin")).toBe(403);
	expect(await ask("kubeletClient")).toBe(404);
});

test.each([
	["is killed", "SIGKILL", "NodeRestarted"],
	["is stopped", "SIGTERM", "Terminated"],
] as const)(
	"when the node %s, its processes end and their Job goes on without losing a retry",
	async (_, signal, reason) => {
		const job = `goes-on-${signal.toLowerCase()}`;
		const store = join(scratch, job);
		await mkdir(store);
		await createJob(
			job,
			podSpec(
				["once"],
				{
					env: [{ name: "STORE", value: "/store" }],
					volumeMounts: [{ name: "store", mountPath: "/store" }],
				},
				{ volumes: [{ name: "store", hostPath: { path: store } }] },
			),
			{
				backoffLimit: 0,
				podReplacementPolicy: "Failed",
				podFailurePolicy: {
					rules: [
						{
							action: "Ignore",
							onPodConditions: [{ type: "DisruptionTarget", status: "True" }],
						},
					],
				},
			},
		);
		const first = await vi.waitFor(async () => {
			const [pod] = await podsOf(job);
			expect(pod).toBeDefined();
			return pod!.metadata.name;
		}, wait);
		const pid = await untilRunning(first);
		await node.kill(signal);
		await node.start();
		expect(isAlive(pid)).toBe(false);
		await untilJob(job, "Complete");
		const pods = await podsOf(job);
		expect(
			pods.map(({ status }) => [status?.phase, status?.reason]).toSorted(),
		).toEqual([
			["Failed", reason],
			["Succeeded", undefined],
		]);
	},
);
