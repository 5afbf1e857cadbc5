import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
	type Destination,
	destinationKind,
} from "../../crds/generated/types.ts";
import type { JobResult } from "../../packages/contracts/job.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { kinds, type Pod } from "../../packages/kube/kinds.ts";
import { terminated } from "../support/doubles/kubernetes/terminated-pod.ts";
import { applyYaml } from "../support/fixtures/control-plane/apply-yaml.ts";
import {
	eventReasons,
	refuseJobs,
} from "../support/fixtures/control-plane/cluster-state.ts";
import { OperatorWorld } from "../support/fixtures/control-plane/operator-world.ts";

let fixture: OperatorWorld;
let account: string;

beforeAll(async () => {
	fixture = await OperatorWorld.start({
		archive: "none",
		node: "none",
		env: { MAX_JOBS_PER_NAMESPACE: "1" },
	});
	[account] = fixture.accounts;
	await applyYaml(account, volumeClaim);
	fixture.startOperator();
});

afterAll(() => fixture?.stop());

const soon = { timeout: 120_000, interval: 50 };

const succeeded: JobResult = {
	version: 1,
	outcome: "Succeeded",
	rows: 0,
	bytes: 0,
	objects: 0,
};

const failed: JobResult = {
	version: 1,
	outcome: "Failed",
	error: {
		code: "DestinationUnwritable",
		message: "The volume is full.",
		retryable: true,
	},
};

const volumeClaim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: files, labels: { tidemill.dev/use: "true" } }
spec: { accessModes: [ReadWriteOncePod], resources: { requests: { storage: 1Gi } } }`;

function duckDB(name: string, path = "events.duckdb"): string {
	return `apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: ${name} }
spec: { type: DuckDB, duckDB: { path: ${path}, volumeClaimName: files } }`;
}

/** Waits until the Destination's Ready condition has this reason. */
async function destinationWith(
	reason: string,
	name: string,
): Promise<Destination> {
	return vi.waitFor(async () => {
		const destination = await fixture.client.get<Destination>(
			destinationKind,
			name,
			account,
		);
		const ready = findCondition(destination?.status?.conditions, "Ready");
		expect(ready?.reason).toBe(reason);
		return destination!;
	}, soon);
}

async function podsOf(destination: string): Promise<Pod[]> {
	const labelSelector = `tidemill.dev/destination=${destination}`;
	return (
		await fixture.client.list(kinds.pod, { namespace: account, labelSelector })
	).items;
}

/** The Pod that the Job controller made for a check, other than for this one or its repetition. */
async function checkPod(destination: string, known?: Pod): Promise<Pod> {
	return vi.waitFor(async () => {
		const pod = (await podsOf(destination)).find(
			(pod) => !known || jobOf(pod) !== jobOf(known),
		);
		expect(pod).toBeDefined();
		return pod!;
	}, soon);
}

function jobOf({ metadata: { labels } }: Pod): string | undefined {
	return labels?.["batch.kubernetes.io/job-name"];
}

/** There is no node here: what a kubelet would report is written by hand. */
async function endPod(pod: Pod, result: JobResult): Promise<void> {
	const exitCode = result.outcome === "Succeeded" ? 0 : 75;
	await fixture.client.patch(
		kinds.pod,
		pod.metadata.name,
		account,
		{
			status: {
				phase: exitCode === 0 ? "Succeeded" : "Failed",
				...terminated({ exitCode, message: JSON.stringify(result) }),
			},
		},
		"merge",
		{ subresource: "status" },
	);
}

async function expectNoCheckLeft(destination: string): Promise<void> {
	await vi.waitFor(async () => {
		const labelSelector = `tidemill.dev/destination=${destination}`;
		for (const kind of [kinds.job, kinds.secret, kinds.pod])
			expect(
				(
					await fixture.client.list(kind as typeof kinds.pod, {
						namespace: account,
						labelSelector,
					})
				).items,
			).toEqual([]);
	}, soon);
}

test("a Destination is checked by a Job and is Ready when that succeeds", async () => {
	await applyYaml(account, duckDB("lake"));
	const { status } = await destinationWith("Checking", "lake");
	expect(status?.phase).toBe("Checking");
	const pod = await checkPod("lake");
	expect(pod.spec?.containers[0]?.args?.[0]).toBe("check");
	expect(pod.spec?.volumes).toContainEqual({
		name: "warehouse",
		persistentVolumeClaim: { claimName: "files" },
	});

	await endPod(pod, succeeded);
	const ready = await destinationWith("Verified", "lake");
	expect(ready.status).toMatchObject({
		phase: "Ready",
		lastCheck: { failures: 0 },
	});
	await expectNoCheckLeft("lake");
	expect(
		(await destinationWith("Verified", "lake")).metadata.resourceVersion,
	).toBe(ready.metadata.resourceVersion);
});

test("a check beyond the limit of Jobs waits for its turn, says so, and gets it", async () => {
	await applyYaml(account, duckDB("first"));
	const pod = await checkPod("first");
	await applyYaml(account, duckDB("second"));
	const { status } = await destinationWith("Queued", "second");
	expect(status?.conditions?.[0]).toMatchObject({
		status: "Unknown",
		message:
			"The check waits for its turn: It is the next of this namespace. There is 1 Job in this namespace and 1 in all.",
	});
	expect(await podsOf("second")).toEqual([]);
	await endPod(pod, succeeded);
	await endPod(await checkPod("second"), succeeded);
	await destinationWith("Verified", "second");
	await expectNoCheckLeft("second");
});

test("a failed check says so in the destination's own words, and an edit is checked at once", async () => {
	await applyYaml(account, duckDB("full"));
	const first = await checkPod("full");
	await endPod(first, failed);
	const { status } = await destinationWith("CheckFailed", "full");
	expect(status?.phase).toBe("Error");
	expect(status?.conditions?.[0]?.message).toBe(
		"DestinationUnwritable: The volume is full.",
	);
	await vi.waitFor(
		async () =>
			expect(
				await eventReasons(fixture.client, destinationKind, account, "full"),
			).toContain("CheckFailed"),
		soon,
	);
	await expectNoCheckLeft("full");

	await applyYaml(account, duckDB("full", "other.duckdb"));
	const second = await checkPod("full", first);
	await endPod(second, succeeded);
	await destinationWith("Verified", "full");
});

test("a check that Kubernetes refuses is reported in its words", async () => {
	await refuseJobs(fixture.client, account);
	try {
		await applyYaml(account, duckDB("refused"));
		const { status } = await destinationWith("CheckNotStarted", "refused");
		expect(status?.conditions?.[0]?.message).toContain("exceeded quota");
	} finally {
		await fixture.client.raw(
			"DELETE",
			`/api/v1/namespaces/${account}/resourcequotas/no-jobs`,
		);
	}
});

test.each([
	[
		"EndpointNotAllowed",
		"bigquery",
		'type: BigQuery, bigQuery: { projectId: my-project, dataset: events, apiEndpoint: "https://elsewhere" }',
	],
	[
		"SecretNotFound",
		"keyless",
		"type: BigQuery, bigQuery: { projectId: my-project, dataset: events, credentials: { secretRef: { name: google, key: k } } }",
	],
	[
		"VolumeClaimRequired",
		"homeless",
		"type: DuckDB, duckDB: { path: events.duckdb }",
	],
])("%s is said at once", async (reason, name, spec) => {
	await applyYaml(
		account,
		`apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: ${name} }
spec: { ${spec} }`,
	);
	const { status } = await destinationWith(reason, name);
	// A Secret may be on its way.
	const phase = reason === "SecretNotFound" ? "Checking" : "Error";
	expect(status?.phase).toBe(phase);
	expect(await podsOf(name)).toEqual([]);
});
