import { describe, expect, test } from "vitest";
import type { Job, Pod } from "../../packages/kube/kinds.ts";
import {
	type FailingPod,
	isPodless,
	isTroubled,
	podFinding,
	podlessFinding,
	type ToldEvent,
} from "./pods.ts";

/* The texts are Kubernetes' own, as a real node wrote them. */

const metadata = { name: "tidemill-nats-0", namespace: "tidemill-system" };

function event(reason: string, note: string, type = "Warning"): ToldEvent {
	return { reason, note, type };
}

function failingPod(
	status: Pod["status"],
	{ events = [], claims = [] }: Partial<FailingPod> = {},
) {
	const pod = { metadata, spec: { containers: [] }, status } as Pod;
	return podFinding({ pod, events, claims });
}

function waiting(reason: string, message?: string, more: object = {}) {
	const status = { name: "nats", image: "i", restartCount: 0, ...more };
	const state = { waiting: { reason, ...(message && { message }) } };
	return {
		containerStatuses: [{ ...status, state }],
	} as unknown as Pod["status"];
}

function unscheduled(message: string): Pod["status"] {
	return {
		phase: "Pending",
		conditions: [
			{
				type: "PodScheduled",
				status: "False",
				reason: "Unschedulable",
				message,
			},
		],
	};
}

describe("the reason for a Pod that doesn't serve", () => {
	const pull =
		'Failed to pull image "ghcr.io/tidemill/tidemill:0.1.0": failed to resolve reference: not found';
	const noRoom =
		"0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available";
	const noClass =
		"no persistent volumes available for this claim and no storage class is set";
	const claim = {
		claim: { metadata: { ...metadata, name: "data-tidemill-nats-0" } },
		events: [event("FailedBinding", noClass, "Normal")],
	};

	test.each<[string, ReturnType<typeof failingPod>, string, string]>([
		[
			"an image that can't be pulled",
			failingPod(waiting("ImagePullBackOff", 'Back-off pulling image "i"'), {
				events: [
					event("Failed", pull),
					event("Failed", "Error: ErrImagePull"),
					event("BackOff", "Back-off pulling image"),
				],
			}),
			`ImagePullBackOff: ${pull}`,
			"imagePullSecrets",
		],
		[
			"an image that can't be pulled, and whose events are gone",
			failingPod(waiting("ErrImagePull", "no host")),
			"ErrImagePull: no host",
			"registry",
		],
		[
			"no room on a node",
			failingPod(unscheduled(noRoom)),
			`Unschedulable: ${noRoom}`,
			"docs/install.md",
		],
		[
			"a claim without a storage class",
			failingPod(
				unscheduled(
					"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
				),
				{ claims: [claim] },
			),
			`data-tidemill-nats-0 has no volume. FailedBinding: ${noClass}`,
			"kubectl get storageclass",
		],
		[
			"a Secret that isn't there",
			failingPod(waiting("ContainerCreating"), {
				events: [event("FailedMount", 'secret "tidemill-seal-key" not found')],
			}),
			'FailedMount: secret "tidemill-seal-key" not found',
			"kubectl describe pod tidemill-nats-0 -n tidemill-system",
		],
		[
			"a variable's Secret that isn't there",
			failingPod(
				waiting("CreateContainerConfigError", 'secret "keys" not found'),
			),
			'CreateContainerConfigError: secret "keys" not found',
			"kubectl describe",
		],
		[
			"a process that ends again and again",
			failingPod(
				waiting("CrashLoopBackOff", "back-off 40s", {
					restartCount: 4,
					lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } },
				}),
			),
			"its process ended 4 times, last with exit code 137 (OOMKilled)",
			"--previous",
		],
		[
			"a process that isn't ready",
			failingPod(
				{ phase: "Running" },
				{
					events: [
						event(
							"Unhealthy",
							"Readiness probe failed: HTTP probe failed with statuscode: 503",
						),
					],
				},
			),
			"Readiness probe failed",
			"kubectl logs",
		],
		["nothing yet", failingPod({ phase: "Pending" }), "it is starting", "See:"],
	])("is %s", (_, finding, message, advice) => {
		expect(finding).toMatchObject({
			check: "pod tidemill-nats-0",
			result: "failed",
		});
		expect(finding.message).toContain(message);
		expect(finding.advice).toContain(advice);
	});

	test("names a setup Job that is gone, by its Pod's events", () => {
		expect(
			podlessFinding({
				name: "pod tidemill-setup-0a1b2c3d-x1y2z",
				namespace: "tidemill-system",
				events: [
					event("Failed", pull),
					event("Failed", "Error: ErrImagePull"),
					event("BackOff", "Back-off pulling image"),
				],
			}),
		).toMatchObject({
			check: "pod tidemill-setup-0a1b2c3d-x1y2z",
			message: `it lacks a Pod. Failed: ${pull}`,
			advice: expect.stringContaining("image"),
		});
	});

	test("names Pods that Kubernetes refuses to make", () => {
		const note = "exceeded quota: small, requested: requests.cpu=100m";
		expect(
			podlessFinding({
				name: "tidemill-receive",
				namespace: "tidemill-system",
				events: [event("FailedCreate", note)],
			}).message,
		).toContain(note);
	});
});

test("a Pod that serves, has ended well or is being deleted is no finding", () => {
	const ready = { conditions: [{ type: "Ready", status: "True" }] };
	const pod = (status: object, more: object = {}) =>
		isTroubled({ metadata: { ...metadata, ...more }, status } as Pod);
	expect(pod(ready)).toBe(false);
	expect(pod({ phase: "Succeeded" })).toBe(false);
	expect(pod({}, { deletionTimestamp: "2026-03-01T12:00:00Z" })).toBe(false);
	expect(pod({ phase: "Pending" })).toBe(true);
});

test("a Job that has neither ended nor a Pod lacks one", () => {
	const job = (status: object) =>
		({ metadata: { ...metadata, uid: "j" }, status }) as Job;
	const owner = { apiVersion: "batch/v1", kind: "Job", name: "j", uid: "j" };
	const pod = { metadata: { ...metadata, ownerReferences: [owner] } } as Pod;
	expect(isPodless(job({}), [])).toBe(true);
	expect(isPodless(job({}), [pod])).toBe(false);
	const complete = { conditions: [{ type: "Complete", status: "True" }] };
	expect(isPodless(job(complete), [])).toBe(false);
});
