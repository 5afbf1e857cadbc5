// In make test: local/node/decide.test.ts
import { readdir } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { kinds } from "../../packages/kube/kinds.ts";
import {
	ProcessNodeFixture,
	podSpec,
	wait,
} from "../support/fixtures/control-plane/process-node-fixture.ts";
import { kubectl } from "../support/servers/kubectl.ts";

let fixture: ProcessNodeFixture;
let firstRenewal: string | undefined;

beforeAll(async () => {
	fixture = await ProcessNodeFixture.start();
	firstRenewal = await renewal();
});

afterAll(() => fixture?.stop());

test("a Job completes, and its Pod reports what the container left as its last words", async () => {
	const env = [{ name: "RESULT", value: "/dev/termination-log" }];
	await fixture.createJob("completes", podSpec(["succeed"], { env }));
	const { status } = await fixture.untilJob("completes", "Complete");
	expect(status?.succeeded).toBe(1);
	const [pod] = await fixture.podsOf("completes");
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
	expect(await fixture.logs(pod!.metadata.name)).toBe("one\ntwo\nthree\n");
	expect(await fixture.logs(pod!.metadata.name, "--tail=1")).toBe("three\n");
	expect(await fixture.logs(pod!.metadata.name, "--timestamps")).toMatch(
		/^\d{4}-\d\d-\d\dT\S+Z one\n/,
	);
});

test("an exit code that trying again can't help fails the Job at once", async () => {
	await fixture.createJob(
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
	const { status } = await fixture.untilJob("permanent", "Failed");
	expect(status?.conditions?.map(({ reason }) => reason)).toContain(
		"PodFailurePolicy",
	);
	const pods = await fixture.podsOf("permanent");
	expect(pods).toHaveLength(1);
	expect(
		pods[0]?.status?.containerStatuses?.[0]?.state?.terminated,
	).toMatchObject({ exitCode: 65, reason: "Error", message: "of no use\n" });
});

test("a process sees its Pod's variables and volumes, and nothing of the node", async () => {
	await fixture.client.create(kinds.secret, {
		metadata: { name: "input", namespace: fixture.namespace },
		stringData: { "input.json": "the input" },
	});
	const claim = { metadata: { name: "data", namespace: fixture.namespace } };
	await fixture.client.create(kinds.persistentVolumeClaim, {
		...claim,
		spec: {
			accessModes: ["ReadWriteOnce"],
			resources: { requests: { storage: "1Gi" } },
		},
	});
	await fixture.createPod(
		"sees",
		podSpec(
			["show", "/var/run/input/input.json"],
			{
				env: [
					{ name: "COLOUR", value: "blue" },
					{ name: "GREETING", value: "it is $(COLOUR), not $$(COLOUR)" },
					{ name: "STORE", value: "/store" },
				],
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
	await fixture.untilPhase("sees", "Succeeded");
	const seen = await fixture.logs("sees");
	expect(seen).toContain("/input.json: the input\n");
	expect(seen).toContain("GREETING=it is blue, not $(COLOUR)\n");
	const names = seen.match(/^\w+(?==)/gm)!.filter(
		// Made by the shell itself.
		(name) => !["PWD", "OLDPWD", "SHLVL", "_"].includes(name),
	);
	expect(new Set(names)).toEqual(
		new Set([
			...["PATH", "HOME", "LANG"].filter((name) => process.env[name]),
			...["COLOUR", "GREETING", "STORE"],
		]),
	);
	expect(
		await readdir(
			join(fixture.node.home, "volumes", fixture.namespace, "data"),
		),
	).toEqual(["file"]);
});

test("a Pod waits for a missing Secret, and says so", async () => {
	await fixture.createPod(
		"waits",
		podSpec(
			["show", "/var/run/later/answer"],
			{ volumeMounts: [{ name: "later", mountPath: "/var/run/later" }] },
			{ volumes: [{ name: "later", secret: { secretName: "later" } }] },
		),
	);
	await vi.waitFor(async () => {
		const pod = await fixture.pod("waits");
		expect(pod?.status?.containerStatuses?.[0]?.state?.waiting).toEqual({
			reason: "CreateContainerConfigError",
			message: 'secret "later" not found',
		});
	}, wait);
	await fixture.client.create(kinds.secret, {
		metadata: { name: "later", namespace: fixture.namespace },
		stringData: { answer: "here" },
	});
	await fixture.untilPhase("waits", "Succeeded");
	expect(await fixture.logs("waits")).toContain("/answer: here\n");
});

test("a Pod of another image stays pending and says that local mode runs only ours", async () => {
	const spec = podSpec([], { image: "docker.io/library/nginx:1" });
	await fixture.createPod("foreign", spec);
	await vi.waitFor(async () => {
		const { stdout } = await kubectl([
			"describe",
			"pod",
			"foreign",
			"-n",
			fixture.namespace,
		]);
		expect(stdout).toMatch(/FailedScheduling .*runs only the image/);
	}, wait);
	await vi.waitFor(async () => {
		const pod = await fixture.pod("foreign");
		expect(pod?.status).toMatchObject({
			phase: "Pending",
			conditions: [{ type: "PodScheduled", status: "False" }],
		});
	}, wait);
});

test("a shell in a Pod is refused with the reason", async () => {
	await fixture.createPod("exec", podSpec(["wait"]));
	await fixture.untilRunning("exec");
	const { stderr } = await kubectl([
		...["exec", "-n", fixture.namespace, "exec", "--", "date"],
	]);
	expect(stderr).toContain("Local mode has no exec");
	await fixture.deletePod("exec");
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
				`https://127.0.0.1:${fixture.node.port}/containerLogs/${fixture.namespace}/none/main`,
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

async function renewal(): Promise<string | undefined> {
	const lease = await fixture.client.get(
		kinds.lease,
		"tidemill-local",
		"kube-node-lease",
	);
	return lease?.spec?.renewTime;
}
