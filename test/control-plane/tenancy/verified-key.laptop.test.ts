import { expect, test, vi } from "vitest";
import { type Pipeline, pipelineKind } from "../../../crds/generated/types.ts";
import { findCondition } from "../../../packages/kube/conditions.ts";
import { kinds, type Secret } from "../../../packages/kube/kinds.ts";
import { manifest } from "../../support/doubles/played-archive.ts";
import {
	client,
	RunScene,
	wait,
} from "../../support/fixtures/control-plane/run-scene.ts";

/* Who may edit a Destination's Secret can't give its Job a key that was not verified, and so choose what the Job reads. */

const scene = RunScene.use();

const key = (more: object) =>
	JSON.stringify({
		type: "service_account",
		client_email: "loader@my-project.iam.gserviceaccount.com",
		private_key: "PEM",
		...more,
	});
const verified = key({});
const swapped = key({
	type: "external_account",
	credential_source: { file: "/root/.kube/config" },
});

async function createLake(): Promise<void> {
	const secret: Secret = await client.create(kinds.secret, {
		metadata: {
			name: "google",
			namespace: scene.namespace,
			labels: { "tidemill.dev/use": "true" },
		},
		stringData: { "key.json": verified },
	});
	await scene.createDestination(
		"lake",
		{
			type: "BigQuery",
			bigQuery: {
				projectId: "my-project",
				dataset: "events",
				credentials: { secretRef: { name: "google", key: "key.json" } },
			},
		},
		secret,
	);
	await scene.createPipeline("load", { destinationRef: { name: "lake" } });
	// Until it has heard of the check, the Pipeline says DestinationNotReady, too.
	await pipelineSays("Resolved");
}

function pipelineSays(reason: string) {
	return vi.waitFor(async () => {
		const { namespace } = scene;
		const load = await client.get<Pipeline>(pipelineKind, "load", namespace);
		const ready = findCondition(load?.status?.conditions, "Ready");
		expect(ready?.reason).toBe(reason);
	}, wait);
}

function store(value: string) {
	const patch = { stringData: { "key.json": value } };
	return client.patch(
		kinds.secret,
		"google",
		scene.namespace,
		patch,
		"merge",
		{},
	);
}

const jobOf = (run: string) => client.get(kinds.job, run, scene.namespace);

function waits(run: string) {
	return vi.waitFor(async () => {
		expect((await scene.completeOf(run))?.reason).toBe("PipelineNotReady");
	}, wait);
}

test("a Run's Pod mounts a copy of the verified key, and never the account's Secret", async () => {
	await createLake();
	await scene.createRun("r", "load");
	const pod = await vi.waitFor(() => scene.podOf("r"), wait);
	expect(JSON.stringify(pod.spec)).not.toContain('"google"');
	await store(swapped);
	const { volumes } = pod.spec!;
	const { secretName } = volumes!.find(({ name }) => name === "input")!.secret!;
	const mounted = await client.get(kinds.secret, secretName!, scene.namespace);
	expect(mounted!.metadata.ownerReferences).toMatchObject([{ kind: "Run" }]);
	expect(Buffer.from(mounted!.data!["key.json"]!, "base64").toString()).toBe(
		verified,
	);
});

test("a Run gets no Job while the key is not the one that was verified", async () => {
	await createLake();
	await store(swapped);
	await scene.createRun("r", "load");
	await waits("r");
	expect(await jobOf("r")).toBeUndefined();
	await store(verified);
	await vi.waitFor(() => scene.podOf("r"), wait);
});

test("a Run gets no Job with a key that is swapped while archive lists the objects", async () => {
	await createLake();
	scene.archive.answer = async (question) => {
		await store(swapped);
		// The operator has noticed when its Pipeline says so.
		await pipelineSays("DestinationNotReady");
		return manifest(question);
	};
	await scene.createRun("r", "load");
	await waits("r");
	expect(await jobOf("r")).toBeUndefined();
});
