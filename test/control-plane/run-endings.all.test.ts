import { expect, onTestFinished, test, vi } from "vitest";
import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { maxBodyColumns } from "../../packages/contracts/job.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { kinds, type Secret } from "../../packages/kube/kinds.ts";
import { resourcePath, rfc3339 } from "../../packages/kube/resource.ts";
import { Informer } from "../../packages/kube/watch/informer.ts";
import { createLog } from "../../packages/service/log.ts";
import {
	eventReasons,
	refuseJobs,
} from "../support/fixtures/control-plane/operator-fixture.ts";
import {
	client,
	container,
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

function ended(state: object) {
	return { containerStatuses: [{ ...container, state }] };
}

test.each<[string, object, string]>([
	[
		"was killed for its memory",
		{
			phase: "Failed",
			...ended({ terminated: { exitCode: 137, reason: "OOMKilled" } }),
		},
		"OOMKilled",
	],
	[
		"left something else than a result",
		{
			phase: "Failed",
			...ended({
				terminated: { exitCode: 134, reason: "Error", message: "Aborted" },
			}),
		},
		"ResultMissing",
	],
	[
		"ended well and left nothing",
		{
			phase: "Succeeded",
			...ended({ terminated: { exitCode: 0, reason: "Completed" } }),
		},
		"ResultMissing",
	],
])("a Run whose process %s fails and says so", async (_, status, code) => {
	const pod = await startRun("ends");
	await scene.setPodStatus(pod, status);
	await scene.phaseBecomes("ends", "Failed");
	const { error } = await scene.statusOfRun("ends");
	expect(error?.code).toBe(code);
	const pipeline = await vi.waitFor(async () => {
		const found = await client.get<Pipeline>(
			pipelineKind,
			"p",
			scene.namespace,
		);
		expect(found?.status?.lastRun?.phase).toBe("Failed");
		return found!;
	}, wait);
	const { conditions } = pipeline.status!;
	expect(findCondition(conditions, "RunSucceeded")?.message).toContain(code);
});

test("an image that can't be pulled is named while the Run waits, and when its time is over", async () => {
	const pod = await startRun("pulls");
	const waiting = { reason: "ImagePullBackOff", message: "No such image." };
	await scene.setPodStatus(pod, { phase: "Pending", ...ended({ waiting }) });
	await vi.waitFor(async () => {
		expect(await scene.completeOf("pulls")).toMatchObject({
			reason: "PodWaiting",
			message: "ImagePullBackOff: No such image.",
		});
	}, wait);
	const shorter = { spec: { activeDeadlineSeconds: 1 } };
	await client.patch(kinds.job, "pulls", scene.namespace, shorter, "merge");
	await scene.phaseBecomes("pulls", "Failed");
	const { error } = await scene.statusOfRun("pulls");
	expect(error?.code).toBe("DeadlineExceeded");
	expect(error?.message).toContain("ImagePullBackOff: No such image.");
});

test("an evicted Pod is replaced, without taking a retry", async () => {
	const pod = await startRun("moves");
	await scene.setPodStatus(pod, {
		phase: "Failed",
		reason: "Evicted",
		message: "The node was low on resource: memory.",
		conditions: [
			{
				type: "DisruptionTarget",
				status: "True",
				lastTransitionTime: rfc3339(Date.now()),
			},
		],
		...ended({ terminated: { exitCode: 137, reason: "Error" } }),
	});
	const labelSelector = "tidemill.dev/run=moves";
	const { namespace } = scene;
	const next = await vi.waitFor(async () => {
		const { items } = await client.list(kinds.pod, {
			namespace,
			labelSelector,
		});
		const [other] = items.filter(({ metadata }) => metadata.name !== pod);
		expect(other).toBeDefined();
		return other!;
	}, wait);
	await scene.setPodStatus(next.metadata.name, {
		phase: "Succeeded",
		...ended({
			terminated: { exitCode: 0, message: JSON.stringify(succeeded) },
		}),
	});
	await scene.phaseBecomes("moves", "Succeeded");
	expect((await scene.statusOfRun("moves")).attempts).toBe(2);
});

test("a Run whose Pod is gone ends as the result in the bucket says", async () => {
	const pod = await startRun("survives");
	scene.stored = { ok: true, result: JSON.stringify(succeeded) };
	// As a Job sees a Pod that ended before its node went.
	await scene.setPodStatus(pod, { phase: "Succeeded" });
	await scene.phaseBecomes("survives", "Succeeded");
	expect((await scene.statusOfRun("survives")).rows).toBe(329);
});

test("a Run whose Pod is gone is asked for at its own Source's shard, whatever its Pipeline says by then", async () => {
	const pod = await startRun("moved");
	scene.stored = { ok: true, result: JSON.stringify(succeeded) };
	// Nobody archives this shard.
	await scene.createSource("other", { sourceKey: "7".repeat(32), shard: 1 });
	await scene.createPipeline("p", { sourceRef: { name: "other" } });
	await scene.setPodStatus(pod, { phase: "Succeeded" });
	await scene.phaseBecomes("moved", "Succeeded");
});

test("a Run that a quota refuses never seems to run", async () => {
	const { namespace } = scene;
	await refuseJobs(client, namespace);
	await scene.createPipeline("p");
	const runs = new Informer<Run>(client, runKind, {
		namespaces: [namespace],
		log: createLog("test"),
	});
	const seen = new Set<string>();
	runs.onChange(({ status }) => {
		const { phase } = status ?? {};
		const complete = findCondition(status?.conditions, "Complete");
		if (phase) seen.add(`${phase} ${complete?.reason}`);
	});
	const stop = new AbortController();
	const watching = runs.run(stop.signal);
	const create = vi.spyOn(client, "create");
	await scene.createRun("refused", "p");
	// At least three tries.
	await vi.waitFor(() => {
		const tries = create.mock.calls.filter(([kind]) => kind === kinds.job);
		expect(tries.length).toBeGreaterThanOrEqual(3);
		expect([...seen]).toContain("Pending JobNotStarted");
	}, wait);
	create.mockRestore();
	stop.abort();
	await watching;
	// Archive's answer is kept meanwhile.
	expect(scene.questions).toHaveLength(1);
	expect([...seen]).toEqual(["Pending Preparing", "Pending JobNotStarted"]);
});

test("deleting a Job ends its Run, and the Job does not come back", async () => {
	await startRun("loses");
	await vi.waitFor(async () => {
		expect((await scene.statusOfRun("loses")).attempts).toBe(1);
	}, wait);
	await client.delete(kinds.job, "loses", scene.namespace);
	await scene.phaseBecomes("loses", "Failed");
	expect((await scene.statusOfRun("loses")).error?.code).toBe("JobDeleted");
	expect(scene.questions).toHaveLength(1);
});

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

test("links that have expired are renewed by a new Job of the same Run", async () => {
	await startRun("long");
	const error = { code: "ManifestExpired", message: "", retryable: false };
	await scene.endPod("long", 65, { version: 1, outcome: "Failed", error });
	// A busy operator may ask the same again.
	const asked = () => [
		...new Set(scene.questions.map(({ renew = false }) => renew)),
	];
	await vi.waitFor(() => expect(asked()).toEqual([false, true]), wait);
	await scene.phaseBecomes("long", "Running");
	await vi.waitFor(async () => {
		const { status } = await scene.podOf("long");
		expect(status?.phase).toBe("Pending");
	}, wait);
	await scene.endPod("long", 0, succeeded);
	await scene.phaseBecomes("long", "Succeeded");
});

test("a Run whose table turns out to lack days loads the whole window, and the next one goes on from there", async () => {
	await startRun("first");
	const lastRunBecomes = (name: string) =>
		vi.waitFor(async () => {
			const { namespace } = scene;
			const found = await client.get<Pipeline>(pipelineKind, "p", namespace);
			expect(found?.status?.lastRun?.name).toBe(name);
		}, wait);
	await scene.endPod("first", 0, succeeded);
	await lastRunBecomes("first");
	await scene.createRun("dropped", "p");
	const error = { code: "TableIncomplete", message: "", retryable: false };
	await scene.endPod("dropped", 65, { version: 1, outcome: "Failed", error });
	await vi.waitFor(
		() => expect(extentsAsked()).toEqual(["Whole", "Rest", "Whole"]),
		wait,
	);
	await vi.waitFor(async () => {
		const { status } = await scene.podOf("dropped");
		expect(status?.phase).toBe("Pending");
	}, wait);
	await scene.endPod("dropped", 0, succeeded);
	await lastRunBecomes("dropped");
	expect((await scene.statusOfRun("dropped")).extent).toBe("Whole");
	expect(
		await eventReasons(client, runKind, scene.namespace, "dropped"),
	).toContain("WholeWindow");
	await scene.createRun("next", "p");
	await scene.phaseBecomes("next", "Running");
	expect(extentsAsked()).toEqual(["Whole", "Rest", "Whole", "Rest"]);
});

test("types that a Run finds get names that stay, and the Run goes on with the whole window", async () => {
	const { namespace } = scene;
	await startRun("finds", {
		columns: ["EventID", "Body", "Date"],
		onIncompatible: "Fail",
		perEventType: true,
		eventType: { bodyPointer: "/type" },
	});
	const error = {
		...{ code: "EventTypesFound", message: "", retryable: false },
		eventTypes: ["a/b", "a.b"],
	};
	await scene.endPod("finds", 65, { version: 1, outcome: "Failed", error });
	await vi.waitFor(async () => {
		const found = await client.get<Pipeline>(pipelineKind, "p", namespace);
		expect(found?.status?.eventTypeTables?.types).toEqual([
			{ type: "a/b", table: "p_a_b" },
			{ type: "a.b", table: expect.stringMatching(/^p_a_b_[0-9a-f]{8}$/) },
		]);
	}, wait);
	await vi.waitFor(async () => {
		const { status } = await scene.podOf("finds");
		expect(status?.phase).toBe("Pending");
	}, wait);
	const input = await client.get<Secret>(
		kinds.secret,
		"finds-input",
		namespace,
	);
	const text = Buffer.from(input!.data!["input.json"]!, "base64").toString();
	expect(JSON.parse(text).eventTypes).toMatchObject({
		tables: [{ type: "a/b", table: "p_a_b" }, { type: "a.b" }],
		other: "p_other",
		free: 98,
	});
	const result = { ...succeeded, ...{ otherTypes: { rows: 2, types: 1 } } };
	await scene.endPod("finds", 0, result);
	await scene.phaseBecomes("finds", "Succeeded");
	const { otherTypes, extent } = await scene.statusOfRun("finds");
	expect({ otherTypes, extent }).toEqual({
		otherTypes: { rows: 2, types: 1 },
		extent: "Whole",
	});
	expect(await eventReasons(client, runKind, namespace, "finds")).toContain(
		"EventTypesFound",
	);
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
	return scene.questions
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
