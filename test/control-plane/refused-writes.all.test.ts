// In make test: packages/kube/reconcile/status-writer.test.ts
import { expect, inject, onTestFinished, test, vi } from "vitest";
import {
	type Operation,
	operationKind,
	type Pipeline,
	pipelineKind,
	runKind,
} from "../../crds/generated/types.ts";
import { newRun } from "../../crds/run.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { eventReasons } from "../support/fixtures/control-plane/cluster-state.ts";
import {
	client,
	RunScene,
	succeeded,
	wait,
} from "../support/fixtures/control-plane/run-scene.ts";
import {
	probeJob,
	startAdmissionWebhook,
	untilRefused,
} from "../support/servers/admission-webhook.ts";

/*
 * An admission webhook that fails, or denies what Tidemill writes, as a policy engine that is out of order does: what is
 * refused is told in the status and in an Event, ends at its deadline, and costs few requests.
 */

const scene = RunScene.use();

const jobs = { apiGroups: ["batch"], resources: ["jobs"] };

/** An Event follows the status that it belongs to. */
function expectRefusedEvent(
	kind: Parameters<typeof eventReasons>[1],
	name: string,
): Promise<void> {
	return vi.waitFor(async () => {
		const reasons = await eventReasons(client, kind, scene.namespace, name);
		expect(reasons).toContain("WriteRefused");
	}, wait);
}

/** A webhook that is asked about these requests in the scene's namespace, and surely is by now. */
async function refuse(...rules: Parameters<typeof startAdmissionWebhook>[3]) {
	const webhook = await startAdmissionWebhook(
		client,
		inject("pki").ca,
		scene.namespace,
		rules,
	);
	onTestFinished(() => webhook.stop());
	return webhook;
}

async function refuseJobs() {
	const webhook = await refuse(jobs);
	await untilRefused(client, kinds.job, probeJob(scene.namespace));
	webhook.requests = [];
	return webhook;
}

test("a Run whose Job a failing webhook refuses says so in Kubernetes' words, asks archive once, and ends at its deadline", async () => {
	const webhook = await refuseJobs();
	await scene.createPipeline("p", { pendingDeadlineSeconds: 60 });
	await scene.createRun("r", "p");
	await vi.waitFor(async () => {
		const complete = await scene.completeOf("r");
		expect(complete).toMatchObject({ status: "False", reason: "WriteRefused" });
		expect(complete?.message).toContain(
			'failed calling webhook "policy.example.com"',
		);
		// Nothing of the platform's own addresses.
		expect(complete?.message).not.toContain(webhook.address);
	}, wait);
	expect(scene.archive.questions).toHaveLength(1);
	await scene.phaseBecomes("r", "Failed");
	const status = await scene.statusOfRun("r");
	expect(status.error).toMatchObject({
		code: "PendingDeadlineExceeded",
		message: expect.stringContaining("policy.example.com"),
	});
	expect(findCondition(status.conditions, "Failed")?.reason).toBe(
		"PendingDeadlineExceeded",
	);
	expect(scene.archive.questions).toHaveLength(1);
	// After 0.5 to 1 s, 1 to 2, 2 to 4, and so on: about seven in a minute, not ten a second.
	expect(webhook.requests.length).toBeGreaterThan(2);
	expect(webhook.requests.length).toBeLessThan(10);
	await expectRefusedEvent(runKind, "r");
});

test("a Run goes on by itself when the webhook works again", async () => {
	const webhook = await refuseJobs();
	await scene.createPipeline("p");
	await scene.createRun("r", "p");
	await vi.waitFor(async () => {
		expect((await scene.completeOf("r"))?.reason).toBe("WriteRefused");
	}, wait);
	webhook.answer = "permits";
	await scene.phaseBecomes("r", "Running");
	expect(scene.archive.questions).toHaveLength(1);
	await scene.endPod("r", 0, succeeded);
	await scene.phaseBecomes("r", "Succeeded");
});

test("a Run whose Job a webhook denies says with which words", async () => {
	const webhook = await refuseJobs();
	webhook.answer = { denies: "no Jobs on Fridays" };
	await scene.createPipeline("p");
	await scene.createRun("r", "p");
	await vi.waitFor(async () => {
		expect(await scene.completeOf("r")).toMatchObject({
			reason: "JobNotStarted",
			message: expect.stringContaining("no Jobs on Fridays"),
		});
	}, wait);
});

test("an Operation whose Job a failing webhook refuses says so, asks archive once, and goes on when the webhook works", async () => {
	const webhook = await refuseJobs();
	await scene.createOperation("o", {
		type: "Draft",
		eventType: { constant: "order" },
	});
	const statusOf = async () =>
		(await client.get<Operation>(operationKind, "o", scene.namespace))?.status;
	await vi.waitFor(async () => {
		const status = await statusOf();
		expect(findCondition(status?.conditions, "Complete")).toMatchObject({
			reason: "WriteRefused",
			message: expect.stringContaining("policy.example.com"),
		});
		expect(status?.pendingSince).toBeDefined();
	}, wait);
	await expectRefusedEvent(operationKind, "o");
	webhook.answer = "permits";
	await vi.waitFor(async () => {
		expect((await statusOf())?.phase).toBe("Running");
	}, wait);
	expect(scene.archive.questions).toHaveLength(1);
});

test("a Pipeline whose scheduled Run is refused says so on Ready, and creates it when that is permitted", async () => {
	const webhook = await refuse({
		apiGroups: ["tidemill.dev"],
		resources: ["runs"],
	});
	const probe = newRun("none", { name: "probe", namespace: scene.namespace });
	await untilRefused(client, runKind, probe);
	await scene.createPipeline("p", {
		schedule: { type: "Cron", cron: "* * * * *" },
		startingDeadlineSeconds: 3_600,
	});
	const ready = async () => {
		const found = await client.get<Pipeline>(
			pipelineKind,
			"p",
			scene.namespace,
		);
		return findCondition(found?.status?.conditions, "Ready");
	};
	await vi.waitFor(async () => {
		expect(await ready()).toMatchObject({
			status: "False",
			reason: "WriteRefused",
			message: expect.stringContaining("policy.example.com"),
		});
	}, wait);
	await expectRefusedEvent(pipelineKind, "p");
	webhook.answer = "permits";
	await vi.waitFor(async () => {
		expect((await ready())?.status).toBe("True");
		const { items } = await client.list(runKind, {
			namespace: scene.namespace,
		});
		expect(items.length).toBeGreaterThan(0);
	}, wait);
});
