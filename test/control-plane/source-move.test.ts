import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { sourceKind } from "../../crds/generated/types.ts";
import {
	type Move,
	planMove,
	readOwners,
	writeSecret,
} from "../../operator/source/move/apply.ts";
import { eventReasons } from "../support/fixtures/control-plane/operator-fixture.ts";
import { SourceScene } from "../support/fixtures/control-plane/source-scene.ts";
import {
	newSent,
	sendPersistently,
} from "../support/senders/persistent-sender.ts";

const soon = { timeout: 120_000, interval: 50 };
let scene: SourceScene;

beforeAll(async () => {
	scene = await SourceScene.start({ SOURCE_STATUS_SECONDS: "1" }, 2);
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
	const asked: Move = {
		client,
		nats,
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
