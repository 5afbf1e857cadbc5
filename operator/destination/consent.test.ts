import { expect, test } from "vitest";
import type { DestinationSpec } from "../../crds/generated/types.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";
import {
	bigQuery,
	destinationWith,
	jobThat,
	now,
	spec,
	stateWith,
	statusIn,
	used,
} from "../../test/support/examples/destination-examples.ts";
import { decide } from "./decide.ts";
import type { DestinationState } from "./state.ts";

/* A Destination reaches no volume and no identity of another application: their owner lets Tidemill use them by a label. */

const named = (name: string, labels?: Record<string, string>): KubeObject => ({
	metadata: { name, namespace: "shop", ...(labels && { labels }) },
});
const identified: DestinationSpec = {
	...bigQuery(),
	serviceAccountName: "loader",
};

test.each<[string, DestinationSpec, Partial<DestinationState>, string]>([
	[
		"VolumeClaimNotLabelled",
		spec,
		{ volumeClaim: named("files") },
		"kubectl label persistentvolumeclaim files tidemill.dev/use=true -n shop",
	],
	[
		"VolumeClaimNotLabelled",
		spec,
		{ volumeClaim: named("files", { "tidemill.dev/use": "false" }) },
		'PersistentVolumeClaim "files" lacks the label',
	],
	[
		"VolumeClaimNotFound",
		spec,
		{ volumeClaim: undefined },
		'There is no PersistentVolumeClaim "files" in namespace "shop".',
	],
	[
		"ServiceAccountNotLabelled",
		identified,
		{ serviceAccount: named("loader") },
		"kubectl label serviceaccount loader tidemill.dev/use=true -n shop",
	],
	[
		"ServiceAccountNotFound",
		identified,
		{},
		'There is no ServiceAccount "loader" in namespace "shop".',
	],
	[
		"ServiceAccountNotLabelled",
		{ ...spec, serviceAccountName: "loader" },
		{ serviceAccount: named("loader") },
		'ServiceAccount "loader" lacks the label',
	],
])(
	"%s: no check starts, and one that runs ends",
	(reason, wanted, borrowed, words) => {
		const destination = destinationWith(undefined, wanted);
		const jobs = [jobThat()];
		const actions = decide(stateWith({ destination, jobs, ...borrowed }), now);
		expect(actions.map(({ type }) => type)).toEqual([
			"removeJob",
			"writeStatus",
			"recordKubeEvent",
		]);
		expect(statusIn(actions)).toMatchObject({
			phase: "Error",
			conditions: [
				{ status: "False", reason, message: expect.stringContaining(words) },
			],
		});
	},
);

test("with the labels, the Job mounts the claim and runs as the ServiceAccount", () => {
	const destination = destinationWith(undefined, {
		...spec,
		serviceAccountName: "loader",
	});
	const serviceAccount = named("loader", used);
	const start = decide(stateWith({ destination, serviceAccount }), now).find(
		(action) => action.type === "startJob",
	)!;
	const pod = start.job.job.spec!.template.spec!;
	expect(pod).toMatchObject({
		serviceAccountName: "loader",
		securityContext: { fsGroup: 1000 },
	});
	expect(pod.volumes).toContainEqual({
		name: "warehouse",
		persistentVolumeClaim: { claimName: "files" },
	});
});

test("a Job without a claim regroups no volume", () => {
	const destination = destinationWith(undefined, bigQuery());
	const start = decide(stateWith({ destination }), now).find(
		(action) => action.type === "startJob",
	)!;
	const { securityContext } = start.job.job.spec!.template.spec!;
	expect(securityContext).not.toHaveProperty("fsGroup");
});

test.each([
	["VolumeClaimNotFound", spec],
	["ServiceAccountNotFound", identified],
])("%s is no warning while the object may still arrive", (reason, wanted) => {
	const destination = destinationWith(undefined, wanted);
	const createdAt = new Date(now - 5_000).toISOString();
	destination.metadata.creationTimestamp = createdAt;
	const state = stateWith({ destination, volumeClaim: undefined });
	const actions = decide(state, now);
	expect(statusIn(actions)).toMatchObject({
		conditions: [{ status: "Unknown", reason }],
	});
	expect(actions).toContainEqual({ type: "requeueAfter", afterMs: 25_000 });
});
