// In make test: ingest/lake/verify/verification.test.ts
import { createHash, randomUUID } from "node:crypto";
import { Kvm } from "@nats-io/kv";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AddedLedger } from "../../packages/contracts/ledger.ts";
import { addedKey } from "../../packages/contracts/ledger.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	CompactionFixture,
	closedDate,
} from "../support/fixtures/data-plane/compaction-fixture.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

const receivedAtMs = Date.now();
const today = utcDate(receivedAtMs);

/** An archive at work, with an object for each body. */
async function archiveWith(...bodies: string[]) {
	const archive = await ArchiveFixture.open(servers);
	const running = await archive.start();
	const { sourceKey, store, stream } = archive;
	for (const body of bodies) {
		await archive.publish([newEvent(body, { sourceKey, receivedAtMs })]);
		await running.flush();
	}
	const source = { account: "shop", sourceKey };
	const keyOf = (first: number) =>
		store.keys.events({ ...source, date: today }, stream, first);
	return { archive, running, source, keyOf };
}

async function ledger(archive: ArchiveFixture, ...args: string[]) {
	const { ended } = startTidemill(["ledger", ...args], archive.env());
	const { exitCode, stdout, stderr } = await ended;
	return { exitCode, stdout, stderr };
}

/** The manifest of a new Run, or why there is none. */
async function manifestOf(archive: ArchiveFixture) {
	const answer = await archive.ask({
		...{ run: randomUUID(), account: "shop", sourceKey: archive.sourceKey },
	});
	if (!answer.ok) return answer.error;
	return (await (await fetch(answer.url)).json()) as Manifest;
}

test("an object that is gone fails Runs, `verify` names it, and once its loss is accepted Runs leave it out and say so", async () => {
	const { archive, running, source, keyOf } = await archiveWith("1", "2", "3");
	const { sourceKey, stream } = archive;
	expect(await ledger(archive, "verify")).toMatchObject({
		exitCode: 0,
		stdout: expect.stringContaining(
			"3 objects with 3 events are there, 0 with",
		),
	});
	await archive.tamper(keyOf(2));

	expect(await manifestOf(archive)).toMatchObject({
		code: "ObjectMissing",
		message: expect.stringContaining("`tidemill ledger verify`"),
	});
	const name = `${stream}-${"2".padStart(20, "0")}.parquet`;
	const words = ["shop", sourceKey, today, `events/${name}`, "1"].join("\t");
	const acceptance = [
		...["--namespace", "shop", "--source", sourceKey],
		...["--date", today],
	];
	const told = await ledger(archive, "verify");
	expect(told).toMatchObject({ exitCode: 1 });
	expect(told.stdout).toContain(`missing\t${words}\n`);
	expect(told.stdout).toContain(
		`  tidemill ledger accept-loss ${acceptance.join(" ")}\n`,
	);
	const document = await ledger(archive, "verify", "-o", "json");
	expect(JSON.parse(document.stdout)).toMatchObject({
		dates: [{ ...source, date: today, missing: [{ name, rows: 1 }] }],
		totals: { objects: 2, rows: 2, missingObjects: 1, missingRows: 1 },
	});
	const line = `shop\t${sourceKey}\t${today}\t2\t0\t1 missing\n`;
	const rebuilt = await ledger(archive, "rebuild");
	expect(rebuilt).toMatchObject({ exitCode: 1 });
	expect(rebuilt.stdout).toContain(line);
	expect(rebuilt.stderr).toContain("`tidemill ledger verify`");
	// To count again is no person's word.
	expect(await manifestOf(archive)).toMatchObject({ code: "ObjectMissing" });

	expect(await ledger(archive, "accept-loss", ...acceptance)).toMatchObject({
		exitCode: 0,
		stdout: expect.stringContaining("1 object with 1 events"),
	});
	const lost = { rows: 1, objects: 1, names: [name] };
	const manifest = (await manifestOf(archive)) as Manifest;
	expect(manifest.dates).toMatchObject([{ date: today, rows: 2, lost }]);
	expect(manifest.dates[0]!.objects.map(({ key }) => key)).toEqual(
		[1, 3].map(keyOf),
	);
	expect(await ledger(archive, "verify")).toMatchObject({
		exitCode: 0,
		stdout: expect.stringContaining(`accepted\t${words}\n`),
	});
	expect(await ledger(archive, "accept-loss", ...acceptance)).toMatchObject({
		exitCode: 0,
		stdout: expect.stringContaining("Nothing is missing"),
	});
	const kv = await new Kvm(archive.connection).open(bucket.ledger);
	const published = async () =>
		(await kv.get(addedKey(sourceKey)))!.json<AddedLedger>().lost;
	expect(await published()).toEqual({ [today]: { events: 1, objects: 1 } });

	// What NATS knew of it comes back with a rebuild.
	await kv.purge(addedKey(sourceKey));
	expect(await ledger(archive, "rebuild")).toMatchObject({
		exitCode: 0,
		stdout: expect.stringContaining(line),
	});
	expect(await published()).toEqual({ [today]: { events: 1, objects: 1 } });

	// Another loss of the date needs another word, and what comes back counts again.
	await archive.tamper(keyOf(3));
	expect(await manifestOf(archive)).toMatchObject({ code: "ObjectMissing" });
	const { store } = archive;
	const copy = await archive.publish([
		newEvent("4", { sourceKey, receivedAtMs }),
	]);
	await running.flush();
	const text = await store.getPart(keyOf(copy), "bytes=0-");
	await store.putNew(keyOf(2), text!.bytes, "application/octet-stream");
	await ledger(archive, "accept-loss", ...acceptance);
	expect(await manifestOf(archive)).toMatchObject({
		dates: [{ rows: 3, lost: { rows: 1 } }],
	});
});

test("cut records that are gone between others, and a shard whose records are gone, are told", async () => {
	const { archive, running, keyOf } = await archiveWith("1", "2", "3");
	const { store, stream, shard } = archive;
	await running.stop();
	await archive.tamper(store.keys.cut(stream, 2));
	const rebuilt = await ledger(archive, "rebuild");
	expect(rebuilt).toMatchObject({
		exitCode: 1,
		stderr: expect.stringContaining(
			`The cut records of sequences 2 to 2 of stream ${stream} are missing`,
		),
	});
	const name = keyOf(2).slice(keyOf(2).lastIndexOf("/") + 1);
	expect(await ledger(archive, "verify")).toMatchObject({
		exitCode: 1,
		stdout: expect.stringMatching(new RegExp(`^unrecorded\t.*${name}`, "m")),
	});

	for await (const { key } of store.list(store.keys.cutsOfShard(shard)))
		await archive.tamper(key);
	for await (const { key } of store.list(store.keys.ledgersOfShard(shard)))
		await archive.tamper(key);
	expect(await ledger(archive, "verify")).toMatchObject({
		exitCode: 1,
		stdout: expect.stringContaining("and 3 are in no record."),
	});
});

test("a compacted object and one of an Import that are gone are named, and left out once that is accepted", async () => {
	const { archive, source } = await archiveWith("1");
	const { store, sourceKey } = archive;
	const date = today;
	const folder = { ...source, date };
	// As a compaction of the date leaves it.
	const [only] = await Array.fromAsync(
		store.list(store.keys.eventsOfDate(folder)),
	);
	const input = only!.key.slice(only!.key.lastIndexOf("/") + 1);
	const name = `compacted-${"0".repeat(32)}.parquet`;
	const sha256 = createHash("sha256").digest("hex");
	const output = { name, rows: 1, bytes: 1, sha256, inputs: [input] };
	await store.putNew(
		store.keys.compaction(folder),
		JSON.stringify({ version: 1, ...folder, outputs: [output] }),
		"application/json",
	);
	const added = store.keys.addedObject(folder, 1, "0123456789abcdef");
	const record = { version: 1, ...folder, operation: randomUUID() };
	await store.putNew(
		store.keys.addedRecord(folder, 1),
		JSON.stringify({
			...{ ...record, stream: "import", first: 1, last: 1 },
			...{ key: added, rows: 5, bytes: 1, imported: true },
		}),
		"application/json",
	);
	const told = await ledger(archive, "verify");
	expect(told).toMatchObject({ exitCode: 1 });
	expect(told.stdout).toContain(`events/${name}\t1\n`);
	expect(told.stdout).toContain(
		"releases/000000000001-0123456789abcdef.parquet\t5\n",
	);
	expect(await ledger(archive, "rebuild")).toMatchObject({
		exitCode: 1,
		stdout: expect.stringContaining(`\t${today}\t0\t0\t6 missing\n`),
	});
	const acceptance = ["--namespace", "shop", "--source", sourceKey];
	await ledger(archive, "accept-loss", ...acceptance, "--date", date);
	const manifest = await eventually(() => manifestOf(archive));
	expect(manifest).toMatchObject({
		dates: [{ rows: 0, objects: [], lost: { rows: 6, objects: 2 } }],
	});
	const { lost } = (manifest as Manifest).dates[0]!;
	// A table may know the rows by the objects that were compacted.
	expect(lost!.names).toContain(input);
});

test("an object of quarantine that is gone holds up a release until its loss is accepted, and no other events", async () => {
	const { archive, running, source } = await archiveWith();
	const { sourceKey, store, stream } = archive;
	const violations = '{"type":"t","violations":[{"kind":"UnplannedEvent"}]}';
	for (const body of ["1", "2"]) {
		const apart = { receivedAtMs, quarantined: true, violations } as const;
		await archive.publish([newEvent(body, { sourceKey, ...apart })]);
		await running.flush();
	}
	const apart = { ...source, date: today, quarantined: true } as const;
	await archive.tamper(store.keys.events(apart, stream, 1));
	const release = () => archive.askRelease({ operation: randomUUID() });
	expect(await release()).toMatchObject({ error: { code: "ObjectMissing" } });
	expect(await ledger(archive, "verify")).toMatchObject({
		exitCode: 1,
		stdout: expect.stringMatching(/^missing\t.*\tquarantine\/.*\t1$/m),
	});
	const named = ["--namespace", "shop", "--source", sourceKey];
	await ledger(archive, "accept-loss", ...named, "--date", today);
	expect(await release()).toMatchObject({ dates: [{ events: 1 }] });
});

test("a date is compacted without an object whose loss is accepted, and not before", async () => {
	const fixture = await CompactionFixture.open(servers, 4);
	const { archive, due, signal } = fixture;
	const { stream, first } = due().objects[1]!;
	const key = archive.keys.events(due(), stream, first);
	await archive.tamper(key);
	await fixture.compactor().look(Date.now(), signal);
	expect(await fixture.record()).toBeUndefined();
	const { sourceKey } = archive;
	const named = ["--namespace", "shop", "--source", sourceKey];
	await ledger(archive, "accept-loss", ...named, "--date", closedDate);
	await fixture.compactor().look(Date.now(), signal);
	expect((await fixture.record())?.outputs).toMatchObject([{ rows: 9 }]);
	expect(await fixture.manifest()).toMatchObject({
		dates: expect.arrayContaining([
			expect.objectContaining({
				...{ date: closedDate, rows: 9 },
				lost: expect.objectContaining({ rows: 3, objects: 1 }),
			}),
		]),
	});
	expect(await ledger(archive, "verify")).toMatchObject({ exitCode: 0 });
});

test("`accept-loss` says which words it takes", async () => {
	const archive = await ArchiveFixture.open(servers);
	for (const [args, message] of [
		[["--source", "x", "--date", today], "--namespace is missing"],
		[["--namespace", "a", "--source", "x", "--date", today], '--source is "x"'],
		[
			[
				...["--namespace", "a", "--source", archive.sourceKey],
				...["--date", "yesterday"],
			],
			'--date is "yesterday"',
		],
	] as const)
		expect(await ledger(archive, "accept-loss", ...args)).toMatchObject({
			exitCode: 2,
			stderr: expect.stringContaining(message),
		});
});
