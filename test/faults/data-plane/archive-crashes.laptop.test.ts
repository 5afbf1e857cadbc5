import { randomBytes, randomUUID } from "node:crypto";
import { Kvm } from "@nats-io/kv";
import { parse } from "uuid";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openKeyBucket } from "../../../ingest/archive/write/idempotency-settlement.ts";
import {
	entryKey,
	IdempotencyBucket,
} from "../../../ingest/wire/idempotency-bucket.ts";
import { claimed } from "../../../ingest/wire/idempotency-entry.ts";
import type { SourceLedger } from "../../../packages/contracts/ledger.ts";
import { bucket } from "../../../packages/contracts/nats.ts";
import { dayMs, utcDate } from "../../../packages/contracts/utc-date.ts";
import { mortal, type Step } from "../../support/faults/mortal-archive.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../../support/fixtures/data-plane/archive-fixture.ts";
import {
	type Servers,
	startServers,
} from "../../support/servers/archive-servers.ts";
import { startTidemill } from "../../support/servers/tidemill-process.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

/** The ledger tells of the last month alone. */
const nextMs = Date.now();
const dayBeforeMs = nextMs - dayMs;

function ofBothDays(events: number) {
	return { [utcDate(dayBeforeMs)]: events, [utcDate(nextMs)]: events };
}

/** Two sources and two dates in each frame, so that a cut has four objects, and one more in quarantine. */
async function publishFrames(archive: ArchiveFixture, count: number) {
	const [day, next] = [dayBeforeMs, nextMs];
	const { sourceKey } = archive;
	const other = { account: "bank", sourceKey: "0b".repeat(16) };
	const bodies: string[] = [];
	for (let frame = 0; frame < count; frame++) {
		const events = [
			newEvent(`"${randomUUID()}"`, { receivedAtMs: day, sourceKey }),
			newEvent(`"${randomUUID()}"`, { receivedAtMs: next, sourceKey }),
			newEvent(`"${randomUUID()}"`, { receivedAtMs: day, ...other }),
			newEvent(`"${randomUUID()}"`, { receivedAtMs: next, ...other }),
		];
		const apart = newEvent(`"${randomUUID()}"`, {
			sourceKey,
			quarantined: true,
		});
		events.push(apart);
		await archive.publish(events);
		bodies.push(...events.map(({ body }) => Buffer.from(body).toString()));
	}
	return bodies;
}

/** Of rows in quarantine, too. */
async function allBodies(archive: ArchiveFixture): Promise<string[]> {
	const apart = await archive.rows("quarantine");
	return [...(await archive.bodies()), ...apart.map(({ body }) => body)].sort();
}

async function ledgerOf(archive: ArchiveFixture) {
	const kv = await new Kvm(archive.connection).open(bucket.ledger);
	return (await kv.get(archive.sourceKey))?.json<SourceLedger>();
}

test.each<["before" | "after", Step, number]>([
	["before", "cut", 1],
	["after", "cut", 1],
	["before", "events", 2],
	["after", "events", 2],
	["after", "events", 4],
	["before", "quarantine", 1],
	["before", "objects-done", 1],
	["after", "objects-done", 1],
	["before", "purge", 1],
	["after", "purge", 1],
	["before", "ledger", 1],
	["after", "ledger", 1],
	["before", "cut", 2],
	["after", "cut", 2],
	["after", "events", 6],
])(
	"an archive that dies %s %s number %i leaves each event to exactly one object",
	async (when, step, count) => {
		const archive = await ArchiveFixture.open(servers);
		const bodies = await publishFrames(archive, 3);
		const { options, died } = mortal(
			(...now) => now[0] === when && now[1] === step && now[2] >= count,
		);
		// Every frame becomes a cut of its own.
		const first = await archive.start({ ...options, maxBytes: 1 });
		await died;
		await first.stop();
		bodies.push(...(await publishFrames(archive, 2)));

		const second = await archive.start();
		await second.flush();
		expect(await allBodies(archive)).toEqual(bodies.sort());
		await eventually(async () => {
			expect(await archive.streamState()).toMatchObject({ messages: 0 });
			expect((await ledgerOf(archive))?.archived).toEqual(ofBothDays(5));
		});
	},
);

test("two archives of one shard give the same rows as one", async () => {
	const archive = await ArchiveFixture.open(servers);
	const both = await Promise.all([
		archive.start({ maxAgeMs: 20, maxBytes: 2_000 }),
		archive.start({ maxAgeMs: 30, maxBytes: 3_000 }),
	]);
	const bodies = await publishFrames(archive, 150);
	await Promise.all(both.map(({ flush }) => flush()));
	expect(await allBodies(archive)).toEqual(bodies.sort());
	for (const { shard } of both) expect(shard.alarm).toBeUndefined();
	await eventually(async () =>
		expect((await ledgerOf(archive))?.archived).toEqual(ofBothDays(150)),
	);
});

test("an event that two frames have under a sender's key is one row", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { connection, shard, sourceKey } = archive;
	const digest = randomBytes(16).toString("hex");
	const id = randomUUID();
	await openKeyBucket(connection, { maxKeys: 1_000, replicas: 1 });
	const keys = await IdempotencyBucket.open(connection, 120_000);
	const times = { nowMs: Date.now(), windowMs: 600_000, shard };
	await keys.write(entryKey("shop", digest), claimed(id, "claim", times), 0);
	for (const process of [1, 2].map(() => randomBytes(16).toString("hex")))
		await archive.publish(
			[newEvent('"once"', { sourceKey, id: parse(id), key: digest })],
			{ process, number: 1 },
		);
	const { flush } = await archive.start();
	await flush();
	expect(await archive.bodies()).toEqual(['"once"']);
});

test("archives killed with SIGKILL again and again lose and repeat nothing", async () => {
	const archive = await ArchiveFixture.open(servers);
	const bodies: string[] = [];
	for (let life = 0; life < 4; life++) {
		const { child, ended } = startTidemill(["archive"], {
			...archive.env(),
			ARCHIVE_MAX_AGE_MS: "20",
			ARCHIVE_MAX_BYTES: "2000",
		});
		onTestFinished(() => void child.kill("SIGKILL"));
		const lastCut = await cutCount(archive);
		// More cuts than are waited for are still to come, however late this is.
		const publishing = publishFrames(archive, 100);
		// Not at a moment that the test chose: whenever the next cuts are seen.
		await eventually(async () =>
			expect(await cutCount(archive)).toBeGreaterThan(
				lastCut + Math.random() * 5,
			),
		);
		child.kill("SIGKILL");
		await ended;
		bodies.push(...(await publishing));
	}
	const { flush } = await archive.start();
	await flush();
	expect(await allBodies(archive)).toEqual(bodies.sort());
});

async function cutCount(archive: ArchiveFixture): Promise<number> {
	let count = 0;
	for await (const _ of archive.store.list(
		archive.keys.cutsOfShard(archive.shard),
	))
		count++;
	return count;
}

test("NATS killed with SIGKILL during work and started again loses and repeats nothing", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { flush, shard } = await archive.start({ maxAgeMs: 20 });
	const bodies = await publishFrames(archive, 100);
	await servers.nats.kill();
	await servers.nats.start();
	bodies.push(...(await publishFrames(archive, 100)));
	await flush();
	await eventually(async () => expect(shard.notReady).toBeUndefined());
	expect(await allBodies(archive)).toEqual(bodies.sort());
});

test("the store killed with SIGKILL during work and started again loses and repeats nothing", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { flush, shard } = await archive.start({ maxAgeMs: 20 });
	const bodies = await publishFrames(archive, 50);
	await servers.s3.kill();
	bodies.push(...(await publishFrames(archive, 50)));
	await eventually(() => expect(shard.notReady).toContain("S3: could not"));
	await servers.s3.start();
	await flush();
	expect(await allBodies(archive)).toEqual(bodies.sort());
	await eventually(() => expect(shard.notReady).toBeUndefined());
});
