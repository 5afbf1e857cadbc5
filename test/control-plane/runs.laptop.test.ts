import { expect, test, vi } from "vitest";
import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import type { LoadInput } from "../../packages/contracts/job.ts";
import { addDays, utcDate } from "../../packages/contracts/utc-date.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { manifest } from "../support/doubles/played-archive.ts";
import { eventReasons } from "../support/fixtures/control-plane/cluster-state.ts";
import {
	client,
	container,
	RunScene,
	succeeded,
	today,
	wait,
} from "../support/fixtures/control-plane/run-scene.ts";

const scene = RunScene.use({ maxJobs: 2 });
/** Less than the minute for which a worker once waited. */
const soon = { timeout: 30_000, interval: 50 };

test("a Run that a person creates becomes a Job, and its result the status of Run and Pipeline", async () => {
	const pipeline = await scene.createPipeline("load-orders");
	await scene.createRun("first", "load-orders");
	await scene.phaseBecomes("first", "Running");

	// The status speaks of the Job before it is there.
	const { metadata, spec } = await vi.waitFor(async () => {
		const job = await client.get(kinds.job, "first", scene.namespace);
		expect(job).toBeDefined();
		return job!;
	}, wait);
	const run = (await client.get<Run>(runKind, "first", scene.namespace))!;
	expect(metadata.ownerReferences).toMatchObject([{ uid: run.metadata.uid }]);
	expect(run.metadata.ownerReferences).toMatchObject([
		{ kind: "Pipeline", uid: pipeline.metadata.uid, controller: true },
	]);
	expect(spec?.template.spec?.volumes?.[0]?.secret?.secretName).toBe(
		"first-input",
	);
	const secret = await client.get(kinds.secret, "first-input", scene.namespace);
	const input = JSON.parse(
		Buffer.from(secret!.data!["input.json"]!, "base64").toString(),
	) as LoadInput;
	expect(input).toMatchObject({
		run: { name: "first", uid: run.metadata.uid, account: scene.namespace },
		destination: { type: "DuckDB", path: "events.duckdb" },
		table: { name: "load_orders" },
		strategy: "Incremental",
		manifestURL: `http://s3/runs/${run.metadata.uid}.json?signature=secret`,
	});
	expect(input.table.columns.map(({ name }) => name)).toEqual([
		"event_id",
		"timestamp",
		"body",
		"date",
		"header_x_event",
	]);

	await scene.endPod("first", 0, succeeded);
	await scene.phaseBecomes("first", "Succeeded");
	const status = await scene.statusOfRun("first");
	expect(status).toMatchObject({
		trigger: "Manual",
		strategy: "Incremental",
		rows: 329,
		bytes: 4096,
		objects: 2,
		attempts: 1,
		dates: { start: addDays(today, -2), end: today },
	});
	expect(findCondition(status.conditions, "Complete")?.status).toBe("True");
	expect(JSON.stringify(status)).not.toContain("signature");

	await vi.waitFor(async () => {
		const { status } = (await client.get<Pipeline>(
			pipelineKind,
			"load-orders",
			scene.namespace,
		))!;
		expect(status).toMatchObject({
			phase: "Ready",
			tableName: "load_orders",
			lastRun: { name: "first", phase: "Succeeded", rows: 329 },
			lastSuccess: { closedThrough: addDays(today, -1) },
		});
		expect(status!.activeRun).toBeUndefined();
		expect(findCondition(status!.conditions, "RunSucceeded")?.status).toBe(
			"True",
		);
		// Recorded, so that nothing is kept of it but the Run.
		expect(
			await client.get(kinds.job, "first", scene.namespace),
		).toBeUndefined();
		expect(
			await client.get(kinds.secret, "first-input", scene.namespace),
		).toBeUndefined();
	}, wait);
	await vi.waitFor(async () => {
		const { namespace } = scene;
		const told = await eventReasons(client, runKind, namespace, "first");
		expect(told.sort()).toEqual(["RunStarted", "RunSucceeded"]);
	}, wait);
});

test("the next Run loads from the first day that wasn't closed, less the overwrite period", async () => {
	const spec = { overwritePeriodDays: 1 };
	await scene.createPipeline("p", spec);
	await scene.createRun("one", "p");
	await scene.endPod("one", 0, succeeded);
	await vi.waitFor(async () => {
		const pipeline = await client.get<Pipeline>(
			pipelineKind,
			"p",
			scene.namespace,
		);
		expect(pipeline?.status?.lastSuccess).toBeDefined();
	}, wait);
	await scene.statusIsHeard("p", spec);
	await scene.createRun("two", "p");
	await vi.waitFor(() => expect(scene.archive.questions).toHaveLength(2), wait);
	// `today` was when this file began.
	const days = [today, utcDate(Date.now())];
	// The last date is that of archive's snapshot.
	for (const { end } of scene.archive.questions) expect(end).toBeUndefined();
	const [one, two] = scene.archive.questions;
	expect(days.map((day) => addDays(day, -30))).toContain(one?.start);
	expect(two?.start).toBe(addDays(today, -1));
});

test("a permanent error fails the Run with the words of the load", async () => {
	await scene.createPipeline("p");
	await scene.createRun("doomed", "p");
	const error = {
		code: "TableIncompatible",
		message: "Table p can't take this load.",
		retryable: false,
	};
	await scene.endPod("doomed", 65, { version: 1, outcome: "Failed", error });
	await scene.phaseBecomes("doomed", "Failed");
	const status = await scene.statusOfRun("doomed");
	expect(status.error).toEqual(error);
	expect(findCondition(status.conditions, "Failed")?.status).toBe("True");
	await vi.waitFor(async () => {
		const pipeline = await client.get<Pipeline>(
			pipelineKind,
			"p",
			scene.namespace,
		);
		expect(findCondition(pipeline?.status?.conditions, "Ready")).toMatchObject({
			status: "False",
			reason: "TableIncompatible",
		});
	}, wait);
});

test("a table of somebody else stops the Pipeline until it may adopt it, which a Run that succeeds uses up", async () => {
	const specOf = (table: object): Partial<Pipeline["spec"]> => ({
		table: { columns: ["EventID", "Date"], onIncompatible: "Fail", ...table },
	});
	const pipelineWith = (table: object) =>
		scene.createPipeline("p", specOf(table));
	const statusOf = async () =>
		(await client.get<Pipeline>(pipelineKind, "p", scene.namespace))?.status;
	const becomesReady = (status: string, reason: string) =>
		vi.waitFor(async () => {
			const { conditions } = (await statusOf())!;
			expect(findCondition(conditions, "Ready")).toMatchObject({
				status,
				reason,
			});
		}, wait);
	const inputOf = async (run: string) => {
		// It comes right after the status.
		const secret = await vi.waitFor(async () => {
			const found = await client.get(
				kinds.secret,
				`${run}-input`,
				scene.namespace,
			);
			expect(found).toBeDefined();
			return found!;
		}, wait);
		const text = secret.data!["input.json"]!;
		return JSON.parse(Buffer.from(text, "base64").toString()) as LoadInput;
	};
	const refuse = async (run: string) => {
		const error = {
			code: "TableNotOurs",
			message: "Table p is not this Pipeline's.",
			retryable: false,
		};
		await scene.endPod(run, 65, { version: 1, outcome: "Failed", error });
		await scene.phaseBecomes(run, "Failed");
		expect((await scene.statusOfRun(run)).error).toEqual(error);
		await becomesReady("False", "TableNotOurs");
	};
	await pipelineWith({});
	await scene.createRun("refused", "p");
	await scene.phaseBecomes("refused", "Running");
	expect(await inputOf("refused")).not.toHaveProperty("adopt");
	await refuse("refused");
	expect((await statusOf())?.incompatibility?.reason).toBe("TableNotOurs");

	// Leave to rebuild is no leave to take it.
	await pipelineWith({ onIncompatible: "Rebuild" });
	await becomesReady("False", "TableNotOurs");
	await pipelineWith({ adopt: true });
	await becomesReady("True", "Resolved");
	await scene.createRun("adopts", "p");
	await scene.phaseBecomes("adopts", "Running");
	expect((await inputOf("adopts")).adopt).toBe(true);
	await scene.endPod("adopts", 0, succeeded);
	await vi.waitFor(async () => {
		expect((await statusOf())?.adoptedTable).toEqual({
			destination: "DuckDB:events.duckdb",
			table: "p",
		});
	}, wait);

	await scene.statusIsHeard("p", specOf({ adopt: true }));
	await scene.createRun("later", "p");
	await scene.phaseBecomes("later", "Running");
	expect(await inputOf("later")).not.toHaveProperty("adopt");
	await refuse("later");
	await pipelineWith({});
	await vi.waitFor(async () => {
		expect(await statusOf()).not.toHaveProperty("adoptedTable");
	}, wait);
	await pipelineWith({ adopt: true });
	await becomesReady("True", "Resolved");
});

test("a Pipeline whose Source changes is refused at once, until its Source, its table or its leave changes", async () => {
	const specOf = (
		source: string,
		table: object = {},
	): Partial<Pipeline["spec"]> => ({
		sourceRef: { name: source },
		table: { columns: ["EventID", "Date"], onIncompatible: "Fail", ...table },
	});
	const becomes = async (
		spec: Partial<Pipeline["spec"]>,
		status: string,
		reason: string,
	) => {
		const { metadata } = await scene.createPipeline("p", spec);
		return vi.waitFor(async () => {
			const found = await client.get<Pipeline>(
				pipelineKind,
				"p",
				scene.namespace,
			);
			expect(found?.status?.observedGeneration).toBe(metadata.generation);
			const ready = findCondition(found?.status?.conditions, "Ready");
			expect(ready).toMatchObject({ status, reason });
			return ready!.message;
		}, wait);
	};
	await scene.createSource("refunds", { sourceKey: "6".repeat(32), shard: 0 });
	await becomes(specOf("orders"), "True", "Resolved");
	await scene.createRun("fills", "p");
	await scene.endPod("fills", 0, succeeded);
	await scene.phaseBecomes("fills", "Succeeded");
	await scene.statusIsHeard("p", specOf("orders"));
	const message = await becomes(
		specOf("refunds"),
		"False",
		"TableIncompatible",
	);
	expect(message).toContain('filled table "p" from another Source');
	await becomes(specOf("orders"), "True", "Resolved");
	await becomes(specOf("refunds", { name: "refunds" }), "True", "Resolved");
	await becomes(
		specOf("refunds", { onIncompatible: "Rebuild" }),
		"True",
		"Resolved",
	);
	await becomes(specOf("refunds"), "False", "TableIncompatible");
	// Somebody has dropped the table: only a Run can tell. Of two in the same second, the later name counts.
	await scene.createRun("refills", "p");
	await scene.endPod("refills", 0, succeeded);
	await scene.phaseBecomes("refills", "Succeeded");
	await becomes(specOf("refunds"), "True", "Resolved");
	await becomes(specOf("orders"), "False", "TableIncompatible");
});

test("a range of dates whose events are gone isn't Ready, and its Run fails as one of such spec.dates does", async () => {
	const dateRange = { start: "2020-01-01", end: "2020-01-31" } as const;
	await scene.createPipeline("p", { dateRange });
	await vi.waitFor(async () => {
		const found = await client.get<Pipeline>(
			pipelineKind,
			"p",
			scene.namespace,
		);
		expect(findCondition(found?.status?.conditions, "Ready")).toMatchObject({
			status: "False",
			reason: "DatesNotRetained",
		});
	}, wait);
	await scene.createRun("all", "p");
	await scene.createRun("dates", "p", { dates: { ...dateRange } });
	for (const name of ["all", "dates"]) {
		await scene.phaseBecomes(name, "Failed");
		const { error } = await scene.statusOfRun(name);
		expect(error?.code).toBe("DatesNotRetained");
	}
	expect(scene.archive.questions).toEqual([]);
});

test("no flush, no run: a Run waits for archive, says so, and asks again at its own pace", async () => {
	const askedMs: number[] = [];
	scene.archive.answer = () => {
		askedMs.push(performance.now());
		const message = `S3 is away, ${askedMs.length} times.`;
		return { ok: false, error: { code: "Away", message, retryable: true } };
	};
	await scene.createPipeline("p");
	await scene.createRun("waits", "p");
	await vi.waitFor(async () => {
		expect(await scene.completeOf("waits")).toMatchObject({
			status: "False",
			reason: "ManifestUnavailable",
			message: expect.stringMatching(/^S3 is away, \d+ times\.$/),
		});
		expect(askedMs.length).toBeGreaterThan(3);
	}, wait);
	// What changes around it may make it ask at once, but not what it says itself.
	expect(askedMs[3]! - askedMs[0]!).toBeGreaterThan(900);
	expect(await client.get(kinds.job, "waits", scene.namespace)).toBeUndefined();
	scene.archive.answer = manifest;
	await scene.phaseBecomes("waits", "Running");
});

test("Runs whose archive takes long hold up no other Run, and archive's death is noticed", async () => {
	const slow = Array.from({ length: 9 }, (_, index) => `slow-${index}`);
	const forever = Promise.withResolvers<undefined>().promise;
	// One of them dies before it answers.
	scene.archive.answer = () =>
		scene.archive.questions.length > 1 ? forever : undefined;
	for (const name of slow) {
		const duckDB = { path: `${name}.duckdb` };
		await scene.createDestination(name, { type: "DuckDB", duckDB });
		await scene.createPipeline(name, { destinationRef: { name } });
		await scene.createRun(name, name);
	}
	await vi.waitFor(() => expect(scene.archive.questions).toHaveLength(9), soon);
	scene.archive.answer = manifest;
	await scene.createPipeline("p");
	await scene.createRun("quick", "p");
	await vi.waitFor(async () => {
		expect((await scene.statusOfRun("quick")).phase).toBe("Running");
	}, soon);
	await vi.waitFor(async () => {
		const phases = await Promise.all(
			slow.map(async (name) => (await scene.statusOfRun(name)).phase),
		);
		expect(phases.sort()).toEqual([...Array(8).fill("Pending"), "Running"]);
	}, soon);
});

test("a Run beyond the limit of Jobs waits for its turn, says so, and gets it", async () => {
	const names = ["a", "b", "c", "d"];
	for (const name of names) {
		const duckDB = { path: `${name}.duckdb` };
		await scene.createDestination(name, { type: "DuckDB", duckDB });
		await scene.createPipeline(name, { destinationRef: { name } });
		await scene.createRun(name, name);
		const phase = names.indexOf(name) < 2 ? "Running" : "Pending";
		await scene.phaseBecomes(name, phase);
	}
	await vi.waitFor(async () => {
		expect(await scene.completeOf("d")).toMatchObject({
			reason: "Queued",
			message:
				"The Run waits for its turn: 1 Job of this namespace comes first. There are 2 Jobs in this namespace and 2 in all.",
		});
	}, wait);
	expect(await client.get(kinds.job, "c", scene.namespace)).toBeUndefined();
	await scene.endPod("a", 0, succeeded);
	await scene.phaseBecomes("c", "Running");
	expect((await scene.statusOfRun("d")).phase).toBe("Pending");
});

test("a Run that comes before its Pipeline waits for it", async () => {
	await scene.createRun("early", "late");
	await vi.waitFor(async () => {
		expect((await scene.completeOf("early"))?.reason).toBe("PipelineNotFound");
	}, wait);
	await scene.createPipeline("late");
	await scene.phaseBecomes("early", "Running");
});

test("of two Runs into one file the second starts when the first one's Pods are gone", async () => {
	await scene.createPipeline("p");
	await scene.createPipeline("q");
	await scene.createRun("a-first", "p");
	await scene.phaseBecomes("a-first", "Running");
	const { metadata } = await vi.waitFor(() => scene.podOf("a-first"), wait);
	await scene.setPodStatus(metadata.name, {
		phase: "Running",
		containerStatuses: [{ ...container, state: { running: {} } }],
	});
	// Its process takes its time to end: the Pod is there until the finalizer goes.
	await client.patch(
		kinds.pod,
		metadata.name,
		scene.namespace,
		{ metadata: { finalizers: [...metadata.finalizers!, "test.dev/hold"] } },
		"merge",
	);
	await scene.createRun("b-second", "q");
	await vi.waitFor(async () => {
		expect((await scene.completeOf("b-second"))?.reason).toBe("WaitingForTurn");
	}, wait);
	await client.patch(
		runKind,
		"a-first",
		scene.namespace,
		{ spec: { cancel: true } },
		"merge",
	);
	await scene.phaseBecomes("a-first", "Cancelled");
	await vi.waitFor(async () => {
		expect((await scene.completeOf("b-second"))?.message).toContain(
			"Pods of Run",
		);
	}, wait);
	expect(
		await client.get(kinds.job, "b-second", scene.namespace),
	).toBeUndefined();
	await client.patch(
		kinds.pod,
		metadata.name,
		scene.namespace,
		{ metadata: { finalizers: null } },
		"merge",
	);
	await client.delete(kinds.pod, metadata.name, scene.namespace, {
		gracePeriodSeconds: 0,
	});
	await scene.phaseBecomes("b-second", "Running");
});
