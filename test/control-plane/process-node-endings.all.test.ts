// In make test: local/node/decide.test.ts
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { resolveBinaries } from "../../local/binaries/resolve.ts";
import {
	isAlive,
	ProcessNodeFixture,
	podSpec,
	wait,
} from "../support/fixtures/control-plane/process-node-fixture.ts";

let fixture: ProcessNodeFixture;

beforeAll(async () => {
	fixture = await ProcessNodeFixture.start();
});

afterAll(() => fixture?.stop());

test("a deleted Pod's process is asked to end, and whoever follows its log reads to the end", async () => {
	await fixture.createPod("asked", podSpec(["wait"]));
	const pid = await fixture.untilRunning("asked");
	const { kubectl: command } = await resolveBinaries(["kubectl"]);
	const follower = spawn(
		command,
		["logs", "asked", "--follow", "-n", fixture.namespace],
		{ env: { ...process.env, KUBECONFIG: inject("kubeconfig") } },
	);
	let read = "";
	follower.stdout.on("data", (bytes) => {
		read += bytes;
	});
	await vi.waitFor(() => expect(read).toBe(`running ${pid}\n`), wait);
	const closed = once(follower, "close");
	await fixture.deletePod("asked");
	const [exitCode] = await closed;
	expect(exitCode).toBe(0);
	expect(read).toBe(`running ${pid}\nasked to end\n`);
	await fixture.untilGone("asked");
	expect(isAlive(pid)).toBe(false);
	await vi.waitFor(async () => {
		const directories = await readdir(join(fixture.node.home, "pods"));
		expect(directories.filter((name) => name.includes("_asked_"))).toEqual([]);
	}, wait);
});

test("a process that won't end is killed after the grace period", async () => {
	await fixture.createPod(
		"stubborn",
		podSpec(["stubborn"], {}, { terminationGracePeriodSeconds: 1 }),
	);
	const pid = await fixture.untilRunning("stubborn");
	await fixture.deletePod("stubborn");
	await fixture.untilGone("stubborn");
	expect(isAlive(pid)).toBe(false);
});

test("a process that runs longer than its Pod's deadline is ended", async () => {
	await fixture.createPod(
		"overdue",
		podSpec(["wait"], {}, { activeDeadlineSeconds: 5 }),
	);
	const pid = await fixture.untilRunning("overdue");
	const { status } = await fixture.untilPhase("overdue", "Failed");
	expect(status?.reason).toBe("DeadlineExceeded");
	expect(isAlive(pid)).toBe(false);
});

test.each([
	["is killed", "SIGKILL", "NodeRestarted"],
	["is stopped", "SIGTERM", "Terminated"],
] as const)(
	"when the node %s, its processes end and their Job goes on without losing a retry",
	async (_, signal, reason) => {
		const job = `goes-on-${signal.toLowerCase()}`;
		const store = join(fixture.scratch, job);
		await mkdir(store);
		await fixture.createJob(
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
			const [pod] = await fixture.podsOf(job);
			expect(pod).toBeDefined();
			return pod!.metadata.name;
		}, wait);
		const pid = await fixture.untilRunning(first);
		await fixture.node.kill(signal);
		await fixture.node.start();
		expect(isAlive(pid)).toBe(false);
		await fixture.untilJob(job, "Complete");
		const pods = await fixture.podsOf(job);
		expect(
			pods.map(({ status }) => [status?.phase, status?.reason]).toSorted(),
		).toEqual([
			["Failed", reason],
			["Succeeded", undefined],
		]);
	},
);
