// In make test: operator/jobs/outcome.test.ts
import { expect, onTestFinished, test, vi } from "vitest";
import {
	type Pipeline,
	pipelineKind,
	runKind,
} from "../../crds/generated/types.ts";
import { maxBodyColumns } from "../../packages/contracts/job.ts";
import { kinds, type Secret } from "../../packages/kube/kinds.ts";
import { resourcePath } from "../../packages/kube/resource.ts";
import { eventReasons } from "../support/fixtures/control-plane/cluster-state.ts";
import {
	client,
	RunScene,
	succeeded,
	wait,
} from "../support/fixtures/control-plane/run-scene.ts";

/*
 * What people and nodes do to a Run under way, with the real Job controller: each ends in a status that says what
 * happened.
 */

const scene = RunScene.use();

async function startRun(
	name: string,
	table?: Pipeline["spec"]["table"],
): Promise<string> {
	await scene.createPipeline("p", {
		...(table && { table }),
		runTemplate: { activeDeadlineSeconds: 3600, retries: 0 },
	});
	await scene.createRun(name, "p");
	await scene.phaseBecomes(name, "Running");
	const { metadata } = await vi.waitFor(() => scene.podOf(name), wait);
	return metadata.name;
}

test("deleting a Run leaves a Kubernetes event on its Pipeline, which goes on", async () => {
	await startRun("goes");
	const statusOf = async () =>
		(await client.get<Pipeline>(pipelineKind, "p", scene.namespace))!.status;
	await vi.waitFor(async () => {
		expect((await statusOf())?.activeRun).toBe("goes");
	}, wait);
	await client.delete(runKind, "goes", scene.namespace);
	await vi.waitFor(async () => {
		expect((await statusOf())?.activeRun).toBeUndefined();
		expect(
			await eventReasons(client, pipelineKind, scene.namespace, "p"),
		).toContain("RunDeleted");
	}, wait);
	// With it went its Job, and so the file is free.
	await scene.createRun("next", "p");
	await scene.phaseBecomes("next", "Running");
});

test("members that a Run finds get columns that stay, and can be frozen into the Pipeline", async () => {
	const { namespace } = scene;
	await startRun("evolves", {
		columns: ["EventID", "Body", "Date"],
		onIncompatible: "Fail",
		schema: "Evolve",
		bodyColumns: [{ name: "id", bodyPointer: "/order/id", type: "Integer" }],
	});
	const error = {
		...{ code: "ColumnsFound", message: "", retryable: false },
		columns: { "/id": "String", "/order/paid": "Boolean" } as const,
	};
	await scene.endPod("evolves", 65, { version: 1, outcome: "Failed", error });
	const columns = [
		{
			name: expect.stringMatching(/^id_[0-9a-f]{8}$/),
			bodyPointer: "/id",
			type: "String",
		},
		{ name: "order_paid", bodyPointer: "/order/paid", type: "Boolean" },
	];
	await vi.waitFor(async () => {
		const found = await client.get<Pipeline>(pipelineKind, "p", namespace);
		expect(found?.status?.inferredColumns).toEqual({ table: "p", columns });
	}, wait);
	await vi.waitFor(async () => {
		const { status } = await scene.podOf("evolves");
		expect(status?.phase).toBe("Pending");
	}, wait);
	const input = await client.get<Secret>(
		kinds.secret,
		"evolves-input",
		namespace,
	);
	const text = Buffer.from(input!.data!["input.json"]!, "base64").toString();
	const { table, evolves } = JSON.parse(text);
	expect(table.columns.map(({ name }: { name: string }) => name)).toEqual([
		...["event_id", "body", "date", "id", columns[0]!.name, "order_paid"],
		"header_x_event",
		"_rescued",
	]);
	expect(evolves.columns).toBe(maxBodyColumns - 3);
	// The table that is there has another type for one of them.
	const [id, paid] = columns;
	const retyped = { ...error, columns: { "/id": "Integer" } as const };
	await scene.endPod("evolves", 65, {
		...{ version: 1, outcome: "Failed", error: retyped },
	});
	await vi.waitFor(async () => {
		const found = await client.get<Pipeline>(pipelineKind, "p", namespace);
		expect(found?.status?.inferredColumns).toEqual({
			table: "p",
			columns: [{ ...id, type: "Integer" }, paid],
		});
	}, wait);
	await vi.waitFor(async () => {
		const secret = await client.get<Secret>(
			kinds.secret,
			"evolves-input",
			namespace,
		);
		const json = Buffer.from(secret!.data!["input.json"]!, "base64").toString();
		expect(JSON.parse(json).table.columns[4].from).toEqual({
			bodyPointer: "/id",
			type: "Integer",
		});
		const { status } = await scene.podOf("evolves");
		expect(status?.phase).toBe("Pending");
	}, wait);
	await scene.endPod("evolves", 0, { ...succeeded, ...{ rescuedRows: 2 } });
	await scene.phaseBecomes("evolves", "Succeeded");
	const { rescuedRows, extent } = await scene.statusOfRun("evolves");
	expect(rescuedRows).toBe(2);
	expect(extentsAsked()).toEqual([extent]);
	expect(await eventReasons(client, runKind, namespace, "evolves")).toContain(
		"ColumnsFound",
	);
	// As many as there may be, so that whatever was inferred can be frozen.
	const bodyColumns = Array.from({ length: maxBodyColumns }, (_, index) => ({
		name: `${"m".repeat(59)}_${index}`,
		bodyPointer: `/${"x".repeat(190)}${index}`,
		type: "Timestamp" as const,
		format: "Local" as const,
		timeZone: "Europe/Berlin",
	}));
	const frozen = await client.patch<Pipeline>(
		pipelineKind,
		"p",
		namespace,
		{ spec: { table: { schema: "Fixed", bodyColumns } } },
		"merge",
	);
	expect(frozen.spec.table.bodyColumns).toHaveLength(maxBodyColumns);
});

/** In order. A question that is asked again, as after a Job that Kubernetes was too slow to take, counts once. */
function extentsAsked() {
	return scene.archive.questions
		.map(({ extent }) => extent)
		.filter((extent, index, all) => extent !== all[index - 1]);
}

test("a Secret of a person is neither overwritten nor deleted", async () => {
	const { namespace } = scene;
	const name = "clashes-input";
	await client.create(kinds.secret, {
		metadata: { name, namespace },
		stringData: { mine: "yes" },
	});
	await scene.createPipeline("p");
	await scene.createRun("clashes", "p");
	await vi.waitFor(async () => {
		expect(await scene.completeOf("clashes")).toMatchObject({
			reason: "JobNotStarted",
			message: expect.stringContaining(`Secret "${name}"`),
		});
	}, wait);
	await client.patch(
		runKind,
		"clashes",
		namespace,
		{ spec: { cancel: true } },
		"merge",
	);
	await scene.phaseBecomes("clashes", "Cancelled");
	const secret = await client.get(kinds.secret, name, namespace);
	expect(Object.keys(secret?.data ?? {})).toEqual(["mine"]);
});

test("a Pod on a lost node holds its warehouse, and the Run that waits for it names both and what frees them", async () => {
	// Kubernetes deletes Pods of a node that doesn't exist.
	const node = `lost-${scene.namespace}`;
	await client.create(kinds.node, { metadata: { name: node } });
	onTestFinished(async () => {
		await client.delete(kinds.node, node);
	});
	const pod = await startRun("lost");
	await client.raw(
		"POST",
		resourcePath(kinds.pod, scene.namespace, pod, "binding"),
		{
			body: {
				apiVersion: "v1",
				kind: "Binding",
				metadata: { name: pod },
				target: { apiVersion: "v1", kind: "Node", name: node },
			},
		},
	);
	await scene.createRun("waits", "p");
	// As Kubernetes does when a node is silent. No kubelet says that the Pod has ended.
	await client.delete(kinds.pod, pod, scene.namespace, {
		gracePeriodSeconds: 1,
	});
	for (const name of ["lost", "waits"])
		await vi.waitFor(async () => {
			const complete = await scene.completeOf(name);
			expect(complete).toMatchObject({ status: "False", reason: "PodLost" });
			expect(complete?.message).toContain(`Pod "${pod}" on node "${node}"`);
			expect(complete?.message).toContain(`kubectl delete node ${node}`);
		}, wait);
	// What the message says frees the file. Kubernetes makes another Pod for the first Run.
	await client.delete(kinds.pod, pod, scene.namespace, {
		gracePeriodSeconds: 0,
	});
	await vi.waitFor(async () => {
		expect((await scene.completeOf("lost"))?.reason).toBe("Loading");
	}, wait);
});
