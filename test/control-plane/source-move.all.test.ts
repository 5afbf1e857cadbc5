// In make test: operator/move-plan.test.ts
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type Run, runKind, sourceKind } from "../../crds/generated/types.ts";
import {
	type MoveRequest,
	planMove,
	readOwners,
	writeSecret,
} from "../../operator/move.ts";
import { createLog } from "../../packages/service/log.ts";
import { applyYaml } from "../support/fixtures/control-plane/apply-yaml.ts";
import { eventReasons } from "../support/fixtures/control-plane/cluster-state.ts";
import { SourceScene } from "../support/fixtures/control-plane/source-scene.ts";
import { startFlow } from "../support/senders/event-flow.ts";
import {
	newSent,
	sendPersistently,
} from "../support/senders/persistent-sender.ts";

const soon = { timeout: 120_000, interval: 50 };
let scene: SourceScene;

beforeAll(async () => {
	const env = { SOURCE_STATUS_SECONDS: "1" };
	scene = await SourceScene.start({ env, node: "processes" }, 2);
});

afterAll(() => scene?.stop());

/** What an administrator runs in the operator's Pod. */
function startMoveTo(shard: number | string, source: string) {
	const namespace = ["--namespace", scene.account];
	const where = ["--source", source, "--shard", String(shard)];
	return scene.operator.runCommand("operator", "move", ...namespace, ...where);
}

function moveTo(shard: number | string, source: string) {
	return startMoveTo(shard, source).ended;
}

async function statusOf(source: string) {
	return (await scene.getSource(source))?.status ?? {};
}

function untilIn(source: string, shard: number, shards: number[]) {
	return vi.waitFor(async () => {
		const status = await statusOf(source);
		expect([status.shard, status.shards?.toSorted()]).toEqual([shard, shards]);
	}, soon);
}

/** The shards that have objects of the Source. */
async function shardsWithObjects(sourceKey: string): Promise<string[]> {
	const objects = await scene.objectsOf(sourceKey);
	const shards = objects.map((key) => /frames-(\d+)-/.exec(key)![1]!);
	return [...new Set(shards)].sort();
}

test("a Source moves to another shard and back while its sender sends, and no event is lost or counted twice", async () => {
	const name = "moving";
	const { sourceKey, path } = await scene.createSource(name);
	const sent = newSent();
	let isOver = false;
	const ended = sendPersistently({
		urls: [scene.receiver.url + path],
		senders: 2,
		body: (n) => JSON.stringify({ n }),
		isDone: () => isOver,
		sent,
		pauseMs: 20,
	});
	const untilMore = (events: number) => {
		const before = sent.acknowledged.size;
		return vi.waitFor(
			() => expect(sent.acknowledged.size).toBeGreaterThan(before + events),
			soon,
		);
	};
	await untilMore(20);
	const { shard: first } = await statusOf(name);
	const other = 1 - first!;
	const there = await moveTo(other, name);
	expect(there, there.stderr).toMatchObject({ exitCode: 0 });
	expect(there.stdout).toContain(
		`New events of Source "${name}" of namespace "${scene.account}" go to shard ${other}. Its events may be in shards `,
	);
	await untilIn(name, other, [0, 1]);
	await untilMore(20);
	await vi.waitFor(
		async () => expect(await shardsWithObjects(sourceKey)).toEqual(["0", "1"]),
		soon,
	);
	// A repeat changes nothing.
	expect(await moveTo(other, name)).toMatchObject({ exitCode: 0 });
	expect(await moveTo(first!, name)).toMatchObject({ exitCode: 0 });
	await untilIn(name, first!, [0, 1]);
	await untilMore(20);
	isOver = true;
	await ended;
	await vi.waitFor(async () => {
		const { counts } = await statusOf(name);
		expect(counts?.accepted).toBe(sent.acknowledged.size);
	}, soon);
	expect(sent.unknown.size).toBe(0);
	const { client } = scene.operator;
	await vi.waitFor(async () => {
		const reasons = await eventReasons(client, sourceKind, scene.account, name);
		expect(reasons.filter((reason) => reason === "Moved")).toHaveLength(2);
	}, soon);
});

test("a move that breaks off after its first write moves nothing; after its second the operator ends it", async () => {
	const name = "broken-off";
	const { sourceKey, path } = await scene.createSource(name);
	const { shard: first } = await statusOf(name);
	const other = 1 - first!;
	const { client, connection: nats } = scene.operator;
	const asked: MoveRequest = {
		client,
		nats,
		log: createLog("test"),
		namespace: scene.account,
		source: name,
		shard: String(other),
		shards: 2,
	};
	const owners = await readOwners(nats);
	const plan = await planMove(asked, owners);
	await writeSecret(asked, plan);
	// What came after the operator saw the Secret.
	await scene.createSource("later");
	expect(await statusOf(name)).toMatchObject({ shard: first });
	await scene.accepted(path, "to the former shard");
	await vi.waitFor(
		async () =>
			expect(await shardsWithObjects(sourceKey)).toEqual([String(first)]),
		soon,
	);
	await owners.addShards(plan.keys.sourceKey, plan.shards);
	await untilIn(name, other, [0, 1]);
	expect(await moveTo(other, name)).toMatchObject({ exitCode: 0 });
});

test("a move whose command and operator are killed after the second write is ended by the next operator", async () => {
	const name = "killed";
	const { sourceKey, path } = await scene.createSource(name);
	const { shard: first } = await statusOf(name);
	const other = 1 - first!;
	await scene.operator.killOperator();
	const killed = startMoveTo(other, name);
	await vi.waitFor(async () => {
		const owners = await readOwners(scene.operator.connection);
		expect(owners.shardsOf(sourceKey)).toContain(other);
	}, soon);
	killed.child.kill("SIGKILL");
	await killed.ended;
	await scene.accepted(path, "to the former shard");
	scene.operator.startOperator();
	await untilIn(name, other, [0, 1]);
	await scene.accepted(path, "to the new shard");
	await vi.waitFor(
		async () => expect(await shardsWithObjects(sourceKey)).toEqual(["0", "1"]),
		soon,
	);
	expect(await moveTo(other, name)).toMatchObject({ exitCode: 0 });
});

test("a move that can't be is refused before anything is written, and the administrator reads why", async () => {
	const name = "refused";
	await scene.createSource(name);
	const { shard } = await statusOf(name);
	const refused = async (to: number | string, source: string, why: string) => {
		const { exitCode, stderr } = await moveTo(to, source);
		expect(stderr).toContain(why);
		expect(exitCode).toBe(1);
	};
	await refused(2, name, '--shard is "2". It must be a number from 0 to 1');
	await refused(0, "nobody", "Name a Source that has a URL");
	await scene.killArchive();
	try {
		await refused(1 - shard!, name, "Nothing was written");
	} finally {
		scene.startArchive();
	}
	expect(await statusOf(name)).toMatchObject({ shard });
	const owners = await readOwners(scene.operator.connection);
	const { sourceKey } = await statusOf(name);
	expect(owners.shardsOf(sourceKey!)).toEqual([]);
});

/** A Pipeline of the Source into a DuckDB file, and how to run it. */
async function createPipeline(source: string) {
	await applyYaml(
		scene.account,
		`apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: ${source} }
spec: { type: DuckDB, duckDB: { path: ${source}.duckdb } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Pipeline
metadata: { name: ${source} }
spec: { sourceRef: { name: ${source} }, destinationRef: { name: ${source} } }`,
	);
	const { client } = scene.operator;
	/** Settles when the Run has ended well. */
	const run = async () => {
		const name = `${source}-${randomUUID().slice(0, 8)}`;
		await applyYaml(
			scene.account,
			`apiVersion: tidemill.dev/v1alpha1
kind: Run
metadata: { name: ${name} }
spec: { pipelineRef: { name: ${source} } }`,
		);
		await vi.waitFor(async () => {
			const found = await client.get<Run>(runKind, name, scene.account);
			expect(found?.status?.phase).toBe("Succeeded");
		}, soon);
	};
	const query = async <Row>(sql: string): Promise<Row[]> => {
		const { warehouse } = scene.operator;
		const file = join(warehouse, scene.account, `${source}.duckdb`);
		const instance = await DuckDBInstance.create(file, {
			access_mode: "READ_ONLY",
		});
		const connection = await instance.connect();
		try {
			const text = sql.replaceAll("$table", `"${source}"`);
			const reader = await connection.runAndReadAll(text);
			return reader.getRowObjectsJson() as Row[];
		} finally {
			connection.closeSync();
			instance.closeSync();
		}
	};
	return { run, query };
}

test("Runs before, during and after a move load each event once, and the Source counts as many", async () => {
	const name = "loaded";
	const { path } = await scene.createSource(name);
	const { run, query } = await createPipeline(name);
	const flow = startFlow(
		{ webhookURL: scene.receiver.url + path, query },
		{ pauseMs: 20 },
	);
	onTestFinished(() => flow.stop());
	const { shard: first } = await statusOf(name);
	/** What was acknowledged before the Run began is in the table when it ends. */
	const runIsComplete = async () => {
		const due = [...flow.sent.acknowledged.keys()];
		await run();
		const rows = await query<{ event_id: string }>(
			"select event_id from $table",
		);
		const loaded = new Set(rows.map(({ event_id }) => event_id));
		expect(due.filter((id) => !loaded.has(id))).toEqual([]);
	};
	await flow.untilMore(40);
	await runIsComplete();
	const there = moveTo(1 - first!, name);
	await runIsComplete();
	expect(await there).toMatchObject({ exitCode: 0 });
	await flow.untilMore(40);
	const back = moveTo(first!, name);
	await runIsComplete();
	expect(await back).toMatchObject({ exitCode: 0 });
	await flow.untilMore(40);
	await flow.stop();
	await run();
	expect(await flow.brokenPromises()).toEqual([]);
	await vi.waitFor(async () => {
		const { counts } = await statusOf(name);
		expect(counts?.accepted).toBe(flow.sent.acknowledged.size);
	}, soon);
});
