// In make test: operator/source/deletion/decide.test.ts
import { Kvm } from "@nats-io/kv";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import {
	pipelineKind,
	type Run,
	runKind,
	sourceKind,
} from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { createLog } from "../../packages/service/log.ts";
import { runInstantNode } from "../support/doubles/kubernetes/instant-node.ts";
import { applyYaml } from "../support/fixtures/control-plane/apply-yaml.ts";
import { eventReasons } from "../support/fixtures/control-plane/cluster-state.ts";
import {
	readyOf,
	SourceScene,
} from "../support/fixtures/control-plane/source-scene.ts";
import { untilReady } from "../support/fixtures/data-plane/receiver.ts";
import { kubectl } from "../support/servers/kubectl.ts";

let scene: SourceScene;
let account: string;
let other: string;
const soon = { timeout: 120_000, interval: 50 };

beforeAll(async () => {
	scene = await SourceScene.start({ env: { SOURCE_STATUS_SECONDS: "1" } });
	[account, other] = scene.operator.accounts;
});

afterAll(() => scene?.stop());

/** As a person deletes: it returns when the Source is gone. */
async function kubectlDelete(name: string): Promise<void> {
	const { exitCode, stderr } = await kubectl([
		"delete",
		"source",
		name,
		`--namespace=${account}`,
		"--timeout=120s",
	]);
	expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
}

test("kubectl delete takes a Source's events along, wherever they are, its URL, and nothing of another's", async () => {
	const kept = await scene.sourceWithEvent("kept");
	await vi.waitFor(
		async () =>
			expect((await scene.getSource("kept"))?.status).toMatchObject({
				counts: { accepted: 1, archived: 1, quarantined: 0 },
				// The gateway has no lifecycle rules.
				retention: { days: 30, enforcedBy: "Sweep" },
			}),
		soon,
	);
	const { sourceKey, path } = await scene.sourceWithEvent("gone");
	await scene.accepted(path, "in the stream");
	await kubectlDelete("gone");

	expect(await scene.objectsOf(sourceKey)).toEqual([]);
	await scene.refused(path, 404);
	expect(
		await scene.operator.client.get(kinds.secret, "gone-webhook-url", account),
	).toBeUndefined();
	expect(await scene.keyOwner(sourceKey)).toBe("(deleted)");
	expect(await scene.objectsOf(kept.sourceKey)).toHaveLength(1);
	expect(await scene.send(kept.path, "kept")).toBe(200);
	await vi.waitFor(
		async () =>
			expect(
				await eventReasons(scene.operator.client, sourceKind, account, "gone"),
			).toContain("EventsDeleted"),
		soon,
	);

	expect((await scene.sourceWithEvent("gone")).sourceKey).not.toBe(sourceKey);
});

test("a Source with Retain leaves its events and its URL", async () => {
	const { sourceKey, path } = await scene.sourceWithEvent("retained", "Retain");
	await kubectlDelete("retained");
	expect(await scene.objectsOf(sourceKey)).toHaveLength(1);
	expect((await scene.createSource("retained", "Retain")).path).toBe(path);
});

test("the Secret that held a deleted key does not bring the key back", async () => {
	const { sourceKey } = await scene.createSource("copied");
	const secret = await scene.operator.client.get(
		kinds.secret,
		"copied-webhook-url",
		account,
	);
	const { name, labels } = secret!.metadata;
	await kubectlDelete("copied");
	for (const namespace of [account, other]) {
		await scene.operator.client.create(kinds.secret, {
			metadata: { name, namespace, labels: labels! },
			data: secret!.data!,
		});
		await applyYaml(
			namespace,
			`apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: copied }
spec: { type: Webhook }`,
		);
		await scene.says("copied", "KeyDeleted", namespace);
	}
	// Also when NATS has forgotten whose key it was.
	const owners = await new Kvm(scene.operator.connection).open(
		bucket.sourceKeys,
	);
	await owners.purge(sourceKey);
	await scene.operator.stopOperator();
	scene.operator.startOperator();
	await scene.createSource("another-change");
	expect(readyOf(await scene.getSource("copied"))?.reason).toBe("KeyDeleted");
	const routes = await new Kvm(scene.operator.connection).open(bucket.routes);
	expect((await routes.get(`source.${sourceKey}`))?.operation).not.toBe("PUT");
});

test("deleting a Source whose Secret was copied from another's takes none of the other's events", async () => {
	const { sourceKey, path } = await scene.sourceWithEvent("owner");
	const secret = await scene.operator.client.get(
		kinds.secret,
		"owner-webhook-url",
		account,
	);
	// Of two Sources made within a second, the first by name counts as the older.
	await scene.operator.client.create(kinds.secret, {
		metadata: {
			name: "pirate-webhook-url",
			namespace: account,
			labels: { ...secret!.metadata.labels, [label.issuedFor]: "pirate" },
		},
		data: secret!.data!,
	});
	await applyYaml(
		account,
		`apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: pirate }
spec: { type: Webhook, deletionPolicy: Delete }`,
	);
	await scene.says("pirate", "KeyTaken");
	await kubectlDelete("pirate");
	expect(await scene.objectsOf(sourceKey)).toHaveLength(1);
	expect(await scene.send(path, "2")).toBe(200);
});

test("while archive is away the Source says so, and goes when it is back", async () => {
	const { sourceKey, path } = await scene.sourceWithEvent("waiting");
	await scene.killArchive();
	const { status } = await scene.deletedAndSays(
		"waiting",
		"DeletionWaitsForArchive",
	);
	expect(status?.phase).toBe("Deleting");
	await scene.refused(path, 404);
	scene.startArchive();
	await scene.gone("waiting");
	expect(await scene.objectsOf(sourceKey)).toEqual([]);
});

test("while the bucket is away the Source says so by an id of archive's log, and goes when it is back", async () => {
	const { sourceKey } = await scene.sourceWithEvent("bucketless");
	await scene.s3.kill();
	const source = await scene.deletedAndSays(
		"bucketless",
		"DeletionWaitsForArchive",
	);
	expect(readyOf(source)?.message).toMatch(
		/error [0-9a-f]{8} in the log of archive/,
	);
	await scene.s3.start();
	await scene.gone("bucketless");
	expect(await scene.objectsOf(sourceKey)).toEqual([]);
});

test("while NATS is away the Source says so, and goes when it is back", async () => {
	const { sourceKey } = await scene.sourceWithEvent("unreached");
	await scene.operator.nats.kill();
	await scene.deletedAndSays("unreached", "DeletionWaitsForRoute");
	await scene.operator.nats.start();
	await scene.gone("unreached");
	expect(await scene.objectsOf(sourceKey)).toEqual([]);
	await untilReady(scene.receiver);
});

test("changing to Retain ends the wait, and the events stay", async () => {
	const { sourceKey } = await scene.sourceWithEvent("undecided");
	await scene.killArchive();
	await scene.deletedAndSays("undecided", "DeletionWaitsForArchive");
	await scene.operator.client.patch(
		sourceKind,
		"undecided",
		account,
		{ spec: { deletionPolicy: "Retain" } },
		"merge",
	);
	await scene.gone("undecided");
	scene.startArchive();
	expect(await scene.objectsOf(sourceKey)).toHaveLength(1);
});

test("a Run that loads the events is waited for by name, whatever its Pipeline refers to by now", async () => {
	const stop = new AbortController();
	onTestFinished(() => stop.abort());
	void runInstantNode(
		scene.operator.client,
		[account],
		createLog("test"),
		stop.signal,
		// Checks of the Destination end; the load goes on.
		({ metadata }) => !metadata.labels?.[label.run],
	);
	const { sourceKey, path } = await scene.createSource("loaded");
	await scene.accepted(path, "1");
	await applyYaml(
		account,
		`apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: lake, labels: { tidemill.dev/use: "true" } }
spec: { accessModes: [ReadWriteOncePod], resources: { requests: { storage: 1Gi } } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: lake }
spec: { type: DuckDB, duckDB: { path: lake.duckdb, volumeClaimName: lake } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Pipeline
metadata: { name: load }
spec: { sourceRef: { name: loaded }, destinationRef: { name: lake } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Run
metadata: { name: load-1 }
spec: { pipelineRef: { name: load } }`,
	);
	const getRun = () =>
		scene.operator.client.get<Run>(runKind, "load-1", account);
	await vi.waitFor(
		async () => expect((await getRun())?.status?.phase).toBe("Running"),
		soon,
	);
	// The Job goes on with what it began with.
	await scene.operator.client.patch(
		pipelineKind,
		"load",
		account,
		{ spec: { sourceRef: { name: "kept" } } },
		"merge",
	);
	const source = await scene.deletedAndSays("loaded", "DeletionWaitsForRun");
	expect(readyOf(source)?.message).toContain('"load-1"');
	expect(await scene.objectsOf(sourceKey)).toHaveLength(1);

	await scene.operator.client.patch(
		runKind,
		"load-1",
		account,
		{ spec: { cancel: true } },
		"merge",
	);
	await scene.gone("loaded");
	expect(await scene.objectsOf(sourceKey)).toEqual([]);
});

test("a namespace that is deleted, its Secrets first, takes the events along", async () => {
	const { sourceKey } = await scene.sourceWithEvent("inside", "Delete", other);
	await scene.operator.client.delete(kinds.namespace, other);
	await scene.gone("inside", other);
	expect(await scene.objectsOf(sourceKey, other)).toEqual([]);
});
