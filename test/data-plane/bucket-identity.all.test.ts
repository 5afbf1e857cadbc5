// In make test: ingest/archive/decide/bucket-verdict.test.ts
import { randomUUID } from "node:crypto";
import { CopyObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import {
	BucketChanged,
	BucketGuard,
} from "../../ingest/archive/bucket-guard.ts";
import { lostCut } from "../../ingest/archive/decide/cut.ts";
import { LedgerSnapshots } from "../../ingest/archive/ledger/ledger-snapshots.ts";
import { ArchiveMetrics } from "../../ingest/archive/write/archive-metrics.ts";
import { BucketMarks } from "../../ingest/archive/write/bucket-marks.ts";
import { CutStore } from "../../ingest/archive/write/cut-store.ts";
import { NatsProgress } from "../../ingest/archive/write/nats-progress.ts";
import {
	type SourceLedger,
	sumOfLedgers,
} from "../../packages/contracts/ledger.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import { firing } from "../support/alerts/firing.ts";
import { commandsIn, runbookOf } from "../support/alerts/runbook.ts";
import { startArchiveProcess } from "../support/faults/archive-process.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	log,
	newStore,
} from "../support/fixtures/data-plane/running-archive.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";

const alert = "TidemillBucketRefused";
let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

const progressOf = (archive: ArchiveFixture) =>
	NatsProgress.open(archive.connection, 1);

/** Archives one event in a process that then ends, and says which bucket that was. */
async function archiveOne(archive: ArchiveFixture, body = "1") {
	const process = await startArchiveProcess(archive);
	await archive.publish([newEvent(body, { sourceKey: archive.sourceKey })]);
	await eventually(async () =>
		expect(await archive.streamState()).toMatchObject({ messages: 0 }),
	);
	process.child.kill();
	await process.ended;
	return (await (await progressOf(archive)).bucket())!;
}

/** All keys with a prefix. */
async function keysIn(prefix: string) {
	const store = newStore(servers.s3, new AbortController().signal);
	const keys = await Array.fromAsync(
		store.list(`${prefix}/`),
		({ key }) => key,
	);
	store.close();
	return keys.map((key) => key.slice(prefix.length + 1));
}

/** The bucket as it is now, in another folder. Returns the folder. */
async function copyOf(archive: ArchiveFixture): Promise<string> {
	const prefix = `copy-${randomUUID()}`;
	const { bucket: Bucket, region, endpoint } = servers.s3;
	const client = new S3Client({ region, endpoint, forcePathStyle: true });
	for (const key of await keysIn(archive.prefix))
		await client.send(
			new CopyObjectCommand({
				Bucket,
				Key: `${prefix}/${key}`,
				CopySource: `${Bucket}/${archive.prefix}/${key}`,
			}),
		);
	client.destroy();
	return prefix;
}

/** As an archive does after an hour. */
async function growNumber(archive: ArchiveFixture) {
	const marks = new BucketMarks(archive.store);
	const { id, number } = (await marks.newest())!;
	const next = { id, number: number + 1 };
	expect(await marks.write(next)).toBe(true);
	await (await progressOf(archive)).noteBucket(next);
	return next;
}

async function ledger(
	archive: ArchiveFixture,
	prefix: string,
	command: string,
) {
	const env = { ...archive.env(), S3_PREFIX: prefix };
	const { exitCode, stdout, stderr } = await startTidemill(
		["ledger", command],
		env,
	).ended;
	return { exitCode, stdout, stderr };
}

const manifestOf = (archive: ArchiveFixture) =>
	archive.ask({
		...{ run: randomUUID(), account: "shop", sourceKey: archive.sourceKey },
	});

/** An archive that is refused the folder says so everywhere, and neither changes anything there nor loses an event. */
async function expectRefused(
	archive: ArchiveFixture,
	prefix: string,
	code: string,
) {
	const before = await keysIn(prefix);
	const process = await startArchiveProcess(archive, { S3_PREFIX: prefix });
	await eventually(async () => {
		const reason = await process.readyz();
		expect(reason).toContain(code);
		expect(reason).toContain(`s3://${servers.s3.bucket}/${prefix}`);
		expect(reason).toContain("`tidemill ledger accept-bucket`");
	});
	await archive.publish([newEvent("2", { sourceKey: archive.sourceKey })]);
	const texts = [await process.metrics()];
	expect(texts[0]).toContain("tidemill_archive_bucket_refused 1");
	expect(await firing({ atMs: Date.now(), texts })).toContain(alert);
	// Runs wait.
	const refused = { code: "BucketRefused", retryable: true };
	expect(await manifestOf(archive)).toMatchObject({
		ok: false,
		error: refused,
	});
	const { exitCode, stderr } = await ledger(archive, prefix, "rebuild");
	expect([exitCode, stderr]).toEqual([1, expect.stringContaining(code)]);
	expect(await keysIn(prefix)).toEqual(before);
	expect(await archive.streamState()).toMatchObject({ messages: 1 });
	return process;
}

test("a bucket of an earlier version gets an id at the first start, which stays, and which a new NATS takes", async () => {
	const archive = await ArchiveFixture.open(servers);
	const earlier = await archive.start();
	await archive.publish([newEvent("1")]);
	await earlier.flush();
	await earlier.stop();
	const first = await archiveOne(archive, "2");
	expect(first).toMatchObject({ number: 1 });
	expect(await new BucketMarks(archive.store).newest()).toEqual(first);
	expect(await archiveOne(archive, "3")).toEqual(first);
	// A version that knows no marks, as after a rollback, changes neither side.
	const rolledBack = await archive.start();
	await archive.publish([newEvent("4")]);
	await rolledBack.flush();
	await rolledBack.stop();
	expect(await archiveOne(archive, "5")).toEqual(first);

	const restored = await ArchiveFixture.open(servers);
	expect(await (await progressOf(restored)).bucket()).toBeUndefined();
	await growNumber(archive);
	await startArchiveProcess(restored, { S3_PREFIX: archive.prefix });
	await eventually(async () =>
		expect(await (await progressOf(restored)).bucket()).toEqual({
			...first,
			number: 2,
		}),
	);
});

test("another prefix by mistake is refused, and once it is set back the events that came meanwhile are archived", async () => {
	const archive = await ArchiveFixture.open(servers);
	const known = await archiveOne(archive);
	const process = await expectRefused(
		archive,
		`other-${randomUUID()}`,
		"BucketIsAnother",
	);
	expect(await (await progressOf(archive)).bucket()).toEqual(known);
	process.child.kill();
	await process.ended;
	const again = await startArchiveProcess(archive);
	await eventually(async () => expect(await again.readyz()).toBe("ok\n"));
	await eventually(async () =>
		expect(await archive.bodies()).toEqual(["1", "2"]),
	);
	expect(await again.metrics()).toContain("tidemill_archive_bucket_refused 0");
});

test("an older copy is refused until a person accepts it; then what it lacks is told as lost, and the newer bucket is refused", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archiveOne(archive);
	const copy = await copyOf(archive);
	const { id, number } = await growNumber(archive);
	const quiet = randomUUID().replaceAll("-", "");
	const archived = async (sourceKey: string) => {
		const { account, shards } = { account: "shop", shards: [archive.shard] };
		const progress = await progressOf(archive);
		const { ledgers } = await progress.counts({ account, sourceKey, shards });
		return sumOfLedgers(ledgers as SourceLedger[])?.archived;
	};
	const today = utcDate(Date.now());
	const archiving = await startArchiveProcess(archive);
	await archive.publish([newEvent("gone, too", { sourceKey: quiet })]);
	await eventually(async () =>
		expect(await archived(quiet)).toEqual({ [today]: 1 }),
	);
	archiving.child.kill();
	await archiving.ended;
	await archiveOne(archive, "gone");
	const process = await expectRefused(archive, copy, "BucketIsOlder");

	// The runbook's command, in the Pod of archive.
	const words = commandsIn(runbookOf(alert)).find((command) =>
		command.includes("accept-bucket"),
	);
	expect(words).toMatch(/ -- tidemill ledger accept-bucket$/);
	const accepted = await ledger(archive, copy, "accept-bucket");
	expect(accepted).toMatchObject({ exitCode: 0, stderr: "" });
	expect(accepted.stdout).toContain(
		`s3://${servers.s3.bucket}/${copy} is archive's bucket from now on, with the id ${id} and the number ${number + 1}. It is an older copy: archive had seen number ${number}, and this had ${number - 1}.`,
	);
	expect(accepted.stdout).toContain(
		`Sequences 2 to 3 of stream ${archive.stream} were archived, and this bucket has no record of them: they count as lost.`,
	);
	await eventually(async () => expect(await process.readyz()).toBe("ok\n"));
	const answer = await eventually(async () => {
		const answer = await manifestOf(archive);
		expect(answer).toMatchObject({ ok: true });
		return answer as Extract<typeof answer, { ok: true }>;
	});
	const manifest = (await (await fetch(answer.url)).json()) as Manifest;
	expect(manifest.dates.reduce((sum, { rows }) => sum + rows, 0)).toBe(2);
	const metrics = await process.metrics();
	expect(metrics).toContain(
		`tidemill_archive_lost_frames{shard="${archive.shard}"} 2`,
	);
	expect(metrics).toContain("tidemill_archive_bucket_refused 0");
	expect(await archived(quiet)).toEqual({});
	await eventually(async () =>
		expect(await archived(archive.sourceKey)).toEqual({ [today]: 2 }),
	);
	expect((await ledger(archive, copy, "accept-bucket")).stdout).toContain(
		"Nothing to accept",
	);
	process.child.kill();
	await process.ended;
	await expectRefused(archive, archive.prefix, "BucketIsOlder");
});

test("an archive whose bucket is put back to an older copy, or is accepted anew, ends, to forget what it remembers", async () => {
	const archive = await ArchiveFixture.open(servers);
	const running = await startArchiveProcess(archive);
	await eventually(async () => expect(await running.readyz()).toBe("ok\n"));
	await archive.publish([newEvent("1")]);
	await eventually(async () =>
		expect(await archive.streamState()).toMatchObject({ messages: 0 }),
	);
	await archive.tamper(archive.keys.cut(archive.stream, 1));
	const { exitCode, stdout } = await ledger(
		archive,
		archive.prefix,
		"accept-bucket",
	);
	expect([exitCode, stdout]).toEqual([
		0,
		expect.stringContaining("It lacks records of what was archived."),
	]);
	const ended = await running.ended;
	expect(ended.exitCode).toBe(1);
	expect(ended.stdout).toContain("a person has accepted another state");
	// Without that word, the shard would stop with CutsMissing.
	expect(await archiveOne(archive, "2")).toMatchObject({ number: 2 });
});

/** Three events in a cut each, of which two records are gone for good. */
async function loseRecords(archive: ArchiveFixture, isInSnapshot: boolean) {
	const { store, shard, stream, sourceKey } = archive;
	const running = await archive.start({ maxBytes: 1 });
	for (const body of ["1", "2", "3"])
		await archive.publish([newEvent(body, { sourceKey })]);
	await running.flush();
	if (isInSnapshot)
		await new LedgerSnapshots(store, log).write(shard, running.shard.index);
	await running.stop();
	for (const first of [2, 3])
		await archive.tamper(store.keys.cut(stream, first));
}

/** As an `accept-bucket` that ends before it has accepted anything. */
async function settleLost({ store, stream }: ArchiveFixture) {
	const cuts = new CutStore(store);
	const [head] = await Array.fromAsync(cuts.ofStream(stream));
	const time = new Date().toISOString();
	const loss = { kind: "sequences", from: 2, to: 3, time } as const;
	await cuts.decide(lostCut(stream, loss, head, {}));
}

async function expectGoesOn(archive: ArchiveFixture) {
	const process = await startArchiveProcess(archive);
	await archive.publish([newEvent("4", { sourceKey: archive.sourceKey })]);
	await eventually(async () =>
		expect(await archive.streamState()).toMatchObject({ messages: 0 }),
	);
	expect(await process.metrics()).toContain(
		`tidemill_archive_lost_frames{shard="${archive.shard}"} 2`,
	);
}

/** Archive names the command, which accepts the bucket, and ends to begin anew. */
async function acceptLackingRecords(archive: ArchiveFixture) {
	const running = await startArchiveProcess(archive);
	await eventually(async () =>
		expect(await running.readyz()).toMatch(
			/existed and is gone.*`tidemill ledger accept-bucket`/,
		),
	);
	const accepted = await ledger(archive, archive.prefix, "accept-bucket");
	expect(accepted).toMatchObject({ exitCode: 0, stderr: "" });
	expect(accepted.stdout).toContain("It lacks records of what was archived.");
	expect((await running.ended).exitCode).toBe(1);
}

test.each([
	["accepted", async () => undefined],
	["accepted again after an interruption", settleLost],
])(
	"a bucket whose ledger snapshot knows records that are gone is %s, and archive goes on",
	async (_, before) => {
		const archive = await ArchiveFixture.open(servers);
		await loseRecords(archive, true);
		await before(archive);
		await acceptLackingRecords(archive);
		await expectGoesOn(archive);
	},
);

test("with a new NATS, a bucket whose ledger snapshot knows records that are gone is accepted, and archive goes on", async () => {
	const archive = await ArchiveFixture.open(servers);
	await loseRecords(archive, true);
	const { connection, stream, shard } = archive;
	const kv = await new Kvm(connection).open(bucket.objectsDone);
	await kv.purge(stream);
	await (await jetstreamManager(connection)).streams.delete(stream);
	await acceptLackingRecords(archive);
	const again = await startArchiveProcess(archive);
	await eventually(async () => expect(await again.readyz()).toBe("ok\n"));
	const sourceKey = archive.sourceKey;
	const progress = await progressOf(archive);
	await eventually(async () => {
		const shards = [shard];
		const { ledgers } = await progress.counts({
			...{ account: "shop", sourceKey, shards },
		});
		const counted = sumOfLedgers(ledgers as SourceLedger[])?.archived;
		expect(counted).toEqual({ [utcDate(Date.now())]: 1 });
	});
});

test("a shard that stands stopped for records which an interrupted command has settled is started by the next one", async () => {
	const archive = await ArchiveFixture.open(servers);
	await loseRecords(archive, false);
	const running = await startArchiveProcess(archive);
	const progress = await progressOf(archive);
	await eventually(async () =>
		expect(await progress.shardState(archive.shard)).toMatchObject({
			stopped: { alarm: "CutsMissing" },
		}),
	);
	await settleLost(archive);
	// And what other tests have archived, elsewhere.
	for (const stream of await progress.streams())
		if (stream !== archive.stream) await progress.lowerObjectsDone(stream, 0);
	const accept = async () =>
		(await ledger(archive, archive.prefix, "accept-bucket")).stdout;
	expect(await accept()).toContain(
		"Archive had stopped a shard for records that were missing.",
	);
	expect((await running.ended).exitCode).toBe(1);
	await expectGoesOn(archive);
	expect(await accept()).toContain("Nothing to accept");
});

test("what NATS still holds of what a bucket has no record of is archived again, and doesn't count as lost", async () => {
	const archive = await ArchiveFixture.open(servers);
	for (const body of ["1", "2"]) await archive.publish([newEvent(body)]);
	// An archive that was killed before it purged the stream; its bucket is gone.
	await (await progressOf(archive)).setObjectsDone(archive.stream, 2);
	const { stdout } = await ledger(archive, archive.prefix, "accept-bucket");
	// Other tests' streams have no records in this bucket, either.
	const own = stdout
		.split("\n")
		.filter((line) => line.includes(archive.stream) && !line.startsWith("{"));
	expect(own).toEqual([
		expect.stringContaining(
			"NATS still has them, and they are archived again.",
		),
	]);
	const running = await archive.start();
	await running.flush();
	expect(await archive.bodies()).toEqual(["1", "2"]);
});

test("the number grows while archives work, and one whose bucket has fallen behind it ends", async () => {
	const archive = await ArchiveFixture.open(servers);
	const stop = new AbortController();
	onTestFinished(() => stop.abort());
	const guard = (growEveryMs: number) =>
		new BucketGuard({
			marks: new BucketMarks(archive.store),
			progress: () => progressOf(archive),
			place: "it",
			metrics: new ArchiveMetrics(
				new Registry(),
				() => [],
				async () => [],
			),
			log,
			pollMs: 10,
			growEveryMs,
		});
	const works = [guard(50), guard(50)].map((each) =>
		each
			.whileAccepted(stop.signal, async () => undefined)
			.catch((error) => error),
	);
	const progress = await progressOf(archive);
	const known = await eventually(async () => {
		const known = (await progress.bucket())!;
		expect(known.number).toBeGreaterThan(5);
		return known;
	});
	const { id, number } = (await new BucketMarks(archive.store).newest())!;
	expect(id).toBe(known.id);
	// NATS never knows more than the bucket has had.
	expect(number).toBeGreaterThanOrEqual(known.number);

	// As after a restore in place.
	await progress.noteBucket({ id, number: number + 1_000_000 });
	for (const work of works) {
		const end = await work;
		expect(end).toBeInstanceOf(BucketChanged);
		expect((end as Error).message).toContain("BucketIsOlder");
	}
	// Earlier numbers are removed.
	expect((await keysIn(`${archive.prefix}/bucket`)).length).toBeLessThan(4);
});
