import { randomUUID } from "node:crypto";
import { jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { SourceTails } from "../../ingest/lake/request/source-tails.ts";
import { logSizes, maxResultBytes } from "../../packages/contracts/job.ts";
import type {
	Manifest,
	ManifestAnswer,
} from "../../packages/contracts/manifest.ts";
import {
	addDays,
	closedThrough,
	datesBetween,
	dayMs,
	utcDate,
} from "../../packages/contracts/utc-date.ts";
import { objectId } from "../../packages/service/log.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

/** Of all events: midnight may come at any moment. */
const receivedAtMs = Date.now();
const today = utcDate(receivedAtMs);

function questionOf(archive: ArchiveFixture, more: object = {}) {
	const { sourceKey } = archive;
	return { run: randomUUID(), account: "shop", sourceKey, ...more };
}

type Good = Extract<ManifestAnswer, { ok: true }>;

async function ask(archive: ArchiveFixture, more: object = {}) {
	const answer = await archive.ask(questionOf(archive, more));
	if (!answer.ok) throw new Error(answer.error.message);
	return { answer, manifest: await read(answer) };
}

async function read({ url }: Good): Promise<Manifest> {
	return (await fetch(url)).json() as Promise<Manifest>;
}

test("a Run that continues has the dates that got events since the last one's manifest, though they were closed, once", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const { sourceKey } = archive;
	const publish = (daysAgo: number) =>
		archive.publish([
			newEvent(String(daysAgo), {
				sourceKey,
				receivedAtMs: receivedAtMs - daysAgo * dayMs,
			}),
		]);
	const rest = async (run: string, daysAgo = 29, reloads?: string[]) => {
		const { manifest } = await ask(archive, {
			extent: "Rest",
			start: addDays(today, -1),
			releases: {
				earliest: addDays(today, -daysAgo),
				// Later than all: by no clock are the dates older.
				since: new Date(Date.now() + dayMs).toISOString(),
				run,
				...(reloads && { reloads }),
			},
		});
		const dates = manifest.dates.map(({ date }) => date);
		expect(dates.slice(-2)).toEqual([addDays(today, -1), today]);
		return { run: manifest.run, dates: dates.slice(0, -2) };
	};
	for (const daysAgo of [5, 3, 0]) await publish(daysAgo);
	const { manifest: whole } = await ask(archive);
	await publish(0);
	expect((await rest(whole.run)).dates).toEqual([]);
	// Receive's clock and NATS's were three days behind.
	await publish(3);
	await publish(4);
	const late = [addDays(today, -4), addDays(today, -3)];
	const next = await rest(whole.run);
	expect(next.dates).toEqual(late);
	expect((await rest(whole.run)).dates).toEqual(late);
	expect((await rest(whole.run, 3)).dates).toEqual(late.slice(1));
	expect((await rest(next.run)).dates).toEqual([]);
	// A Run of chosen dates has loaded one of them, until it gets more.
	const [date] = late;
	const { manifest: reload } = await ask(archive, {
		...{ extent: "Chosen", start: date, end: date },
	});
	const after = () => rest(whole.run, 29, [reload.run, "gone"]);
	expect((await after()).dates).toEqual(late.slice(1));
	await publish(4);
	expect((await after()).dates).toEqual(late);
	// Of a Run of an earlier version nobody knows.
	expect((await rest("gone")).dates).toEqual([]);
});

test("a manifest names every event acknowledged before the question, by date", async () => {
	const archive = await ArchiveFixture.open(servers);
	// Nothing would be archived for ten minutes if the question didn't flush.
	await archive.start({ maxAgeMs: 600_000 });
	const { sourceKey } = archive;
	const before = new Date().toISOString();
	await archive.publish([
		newEvent("1", { sourceKey, receivedAtMs: receivedAtMs - 2 * dayMs }),
		newEvent("2", { sourceKey, receivedAtMs }),
	]);
	await archive.publish([
		newEvent("3", { sourceKey, receivedAtMs }),
		newEvent("other source", { receivedAtMs }),
	]);
	const { answer, manifest } = await ask(archive);

	const first = addDays(today, -2);
	const last = utcDate(Date.parse(answer.snapshotTime));
	expect(answer).toMatchObject({
		dates: { start: first, end: last },
		firstEventDate: first,
		closedThrough: closedThrough(Date.parse(answer.snapshotTime)),
	});
	expect(answer.snapshotTime >= before).toBe(true);
	const rowsOf = new Map([
		[first, 1],
		[today, 2],
	]);
	expect(manifest.dates.map(({ date, rows }) => [date, rows])).toEqual(
		datesBetween(first, last).map((date) => [date, rowsOf.get(date) ?? 0]),
	);
	const [object] = manifest.dates[2]!.objects;
	const bytes = await (await fetch(object!.url)).arrayBuffer();
	expect(object).toMatchObject({ rows: 2, bytes: bytes.byteLength });
	expect(
		(await archive.rows())
			.filter(({ key }) => key === object!.key)
			.map(({ body }) => body)
			.sort(),
	).toEqual(["2", "3"]);
});

test("a question asked again for the same Run gets the same manifest, whatever came since", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const first = await archive.start();
	await archive.publish([newEvent("1", { sourceKey, receivedAtMs })]);
	const question = questionOf(archive);
	const before = await ask(archive, question);
	await archive.publish([newEvent("2", { sourceKey, receivedAtMs })]);
	await first.stop();
	await archive.start();
	const again = await ask(archive, question);
	expect(again.manifest).toEqual(before.manifest);
	expect(again.answer.snapshotTime).toBe(before.answer.snapshotTime);
	expect((await ask(archive)).manifest.dates[0]!.rows).toBe(2);
});

test("a Run that turns out to need the whole window gets it once, with the events that came since", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	await archive.start();
	await archive.publish([
		newEvent("1", { sourceKey, receivedAtMs: receivedAtMs - dayMs }),
	]);
	const part = questionOf(archive, { extent: "Rest", start: today });
	expect((await ask(archive, part)).manifest.dates[0]!.date).toBe(today);
	await archive.publish([newEvent("2", { sourceKey, receivedAtMs })]);
	const { run } = part;
	const whole = { ...questionOf(archive), run, extent: "Whole" };
	const { answer, manifest } = await ask(archive, whole);
	expect(answer.extent).toBe("Whole");
	expect(manifest.asked).toEqual({ extent: "Whole" });
	const rows = manifest.dates.map((date) => date.rows);
	expect(rows.slice(0, 2)).toEqual([1, 1]);
	expect((await ask(archive, whole)).manifest).toEqual(manifest);
	// Which the operator asks only if it has forgotten.
	expect((await ask(archive, part)).manifest).toEqual(manifest);
});

test("the operator learns what a Job writes under its link, and the link takes nothing longer", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const question = questionOf(archive);
	const { manifest } = await ask(archive, question);
	const { url, headers } = manifest.result!;
	const put = (text: string) =>
		fetch(url, { method: "PUT", headers, body: text.padEnd(maxResultBytes) });
	expect(await archive.askResult(question)).toEqual({ ok: true });
	expect((await put(" ".repeat(maxResultBytes + 1))).ok).toBe(false);
	expect(await archive.askResult(question)).toEqual({ ok: true });
	expect((await put("failed")).ok).toBe(true);
	// By the next attempt.
	expect((await put("loaded")).ok).toBe(true);
	expect(await archive.askResult(question)).toEqual({
		ok: true,
		result: "loaded".padEnd(maxResultBytes),
	});
	expect(
		await archive.askResult({ ...question, account: "other" }),
	).toMatchObject({ ok: false, error: { code: "ManifestTaken" } });
	// A Job with a manifest of its own has left nothing yet.
	const renewed = await ask(archive, { ...question, renew: true });
	expect(renewed.manifest.result).not.toEqual(manifest.result);
	expect(await archive.askResult(question)).toEqual({ ok: true });
});

test("the end of a Job's log is shown as long as the bucket has it, to its account alone, and the links take nothing longer", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const question = questionOf(archive);
	const { run, account } = question;
	const put = ({ logs }: Manifest, size: number, text: string, more = "") => {
		const { url, headers } = logs![size]!;
		const body = text.padEnd(logSizes[size]!) + more;
		return fetch(url, { method: "PUT", headers, body });
	};
	const { manifest } = await ask(archive, question);
	expect(await archive.askLog({ run, account })).toEqual({ ok: true });
	expect((await put(manifest, 1, "long\n", " ")).ok).toBe(false);
	expect((await put(manifest, 0, "first\n")).ok).toBe(true);
	expect((await put(manifest, 1, "second\n")).ok).toBe(true);
	const kept = { ok: true, log: "second\n" };
	expect(await archive.askLog({ run, account })).toEqual(kept);
	expect(await archive.askLog({ run, account: "other" })).toEqual({ ok: true });
	// With new links, the last Job's is the Run's.
	const renewed = await ask(archive, { ...question, renew: true });
	expect(await archive.askLog({ run, account })).toEqual(kept);
	await put(renewed.manifest, 0, "third\n");
	expect(await archive.askLog({ run, account })).toMatchObject({
		log: "third\n",
	});
	expect(await archive.askLog({ run: "../events/x", account })).toMatchObject({
		ok: false,
		error: { code: "QuestionInvalid" },
	});
});

test("questions for one Run at the same moment get one manifest", async () => {
	const archive = await ArchiveFixture.open(servers);
	await Promise.all([archive.start(), archive.start()]);
	await archive.publish([
		newEvent("1", { sourceKey: archive.sourceKey, receivedAtMs }),
	]);
	const question = questionOf(archive);
	const answers = await Promise.all(
		Array.from({ length: 6 }, () => ask(archive, question)),
	);
	for (const { manifest } of answers)
		expect(manifest).toEqual(answers[0]!.manifest);
});

test("a Run isn't behind the flood of another account, whose own Run says how far archive is", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { store, sourceKey, stream } = archive;
	const flood = { account: "flood", sourceKey: "f1".repeat(16), receivedAtMs };
	const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
	await archive.publish([newEvent("a", flood)]);
	await archive.publish([newEvent("1", { sourceKey, receivedAtMs })]);
	for (const body of ["b", "c", "d"])
		await archive.publish([newEvent(body, flood)]);
	// Each frame makes a cut, and the third takes for ever.
	const stuckAt = store.keys.cut(stream, 3);
	await archive.start({
		maxBytes: 1,
		wrapStore: (store) =>
			new Proxy(store, {
				get(target, property) {
					const value = Reflect.get(target, property, target);
					if (property === "keys") return value;
					if (property !== "putNew") return value.bind(target);
					return async (...put: Parameters<typeof store.putNew>) => {
						if (put[0] === stuckAt) await isOver;
						return target.putNew(...put);
					};
				},
			}),
	});
	// Otherwise, archive couldn't stop.
	onTestFinished(() => end());
	await eventually(async () =>
		expect(await archive.bodies()).toEqual(["1", "a"]),
	);
	const { promise: said, resolve: say } = Promise.withResolvers<string>();
	const ofFlood = archive.ask(questionOf(archive, flood), say);
	const { manifest } = await ask(archive);
	expect(manifest.dates).toMatchObject([{ date: today, rows: 1 }]);
	expect(await said).toBe(
		"0 of 3 frames that may hold the Source's events are archived.",
	);
	end();
	const answer = (await ofFlood) as Good;
	expect((await read(answer)).dates.at(-1)).toMatchObject({ rows: 4 });
});

test("where each source's events end is read once, from the first frame that isn't archived", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey, stream } = archive;
	const tails = new SourceTails(archive.connection);
	const other = "0e".repeat(16);
	const lasts = (from: number, to: number) => {
		const signal = AbortSignal.timeout(120_000);
		return Promise.all(
			[sourceKey, other, "00".repeat(16)].map((key) =>
				tails.lastOf(key, { stream, from, to }, signal),
			),
		);
	};
	const own = newEvent("1", { sourceKey });
	await archive.publish([own]);
	await archive.publish([newEvent("2", { sourceKey: other }), own]);
	await archive.publish([newEvent("3", { sourceKey: other })]);
	expect(await lasts(1, 3)).toEqual([2, 3, 0]);
	await archive.publish([own]);
	expect(await lasts(3, 4)).toEqual([4, 3, 0]);
	expect(await lasts(4, 4)).toEqual([4, 0, 0]);
	await archive.publish([own]);
	await archive.publish([own]);
	// Archived meanwhile: nobody knows.
	const { streams } = await jetstreamManager(archive.connection);
	await streams.purge(stream, { seq: 6 });
	expect(await lasts(5, 6)).toEqual([undefined, undefined, undefined]);
});

test("links work for as long as the Run may take, the manifest's own too", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	await archive.start();
	await archive.publish([newEvent("1", { sourceKey, receivedAtMs })]);
	const lives = async (linkSeconds?: number) => {
		const asked = linkSeconds === undefined ? {} : { linkSeconds };
		const question = { ...questionOf(archive), ...asked };
		const { answer, manifest } = await ask(archive, question);
		const links = [answer.url, ...linksOf(manifest)];
		return links.map((link) =>
			Number(new URL(link).searchParams.get("X-Amz-Expires")),
		);
	};
	for (const [asked, most] of [
		[600, 600],
		[undefined, 86_400],
		[604_800, 86_400],
	]) {
		const found = await lives(asked);
		expect(found).toHaveLength(2);
		for (const seconds of found) {
			expect(seconds).toBeLessThanOrEqual(most!);
			expect(seconds).toBeGreaterThan(most! - 120);
		}
	}
});

test("a manifest is renewed on request: the same objects, with new links", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	await archive.start();
	await archive.publish([newEvent("1", { sourceKey, receivedAtMs })]);
	const question = questionOf(archive);
	const before = await ask(archive, question);
	await archive.publish([newEvent("2", { sourceKey, receivedAtMs })]);
	// A link tells the second in which it was signed.
	await eventually(async () => {
		const again = await ask(archive, { ...question, renew: true });
		expect(linksOf(again.manifest)).not.toEqual(linksOf(before.manifest));
		await expectRenewed(again, before);
	});
});

test("a manifest whose links have expired is renewed without a request", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	await archive.start();
	await archive.publish([newEvent("1", { sourceKey, receivedAtMs })]);
	const question = questionOf(archive);
	const before = await ask(archive, question);
	await archive.publish([newEvent("2", { sourceKey, receivedAtMs })]);
	const expired = { ...before.manifest, expiresAt: "2026-01-01T00:00:00Z" };
	const [link] = linksOf(before.manifest);
	await archive.tamper(
		archive.keys.run(question.run),
		JSON.stringify(expired).replace(link!, "http://expired.invalid/"),
	);
	await expectRenewed(await ask(archive, question), before);
});

type Asked = Awaited<ReturnType<typeof ask>>;

async function expectRenewed(after: Asked, before: Asked): Promise<void> {
	expect(withoutLinks(after.manifest)).toEqual(withoutLinks(before.manifest));
	expect(after.answer.snapshotTime).toBe(before.answer.snapshotTime);
	expect(Date.parse(after.answer.expiresAt)).toBeGreaterThan(Date.now());
	const [link] = linksOf(after.manifest);
	expect((await fetch(link!)).status).toBe(200);
}

function linksOf({ dates }: Manifest): string[] {
	return dates.flatMap(({ objects }) => objects.map(({ url }) => url));
}

function withoutLinks({
	expiresAt: _,
	result: __,
	logs: ___,
	...manifest
}: Manifest) {
	const text = JSON.stringify(manifest);
	return linksOf(manifest as Manifest).reduce(
		(rest, link) => rest.replace(link, ""),
		text,
	);
}

test("a source without events has an empty manifest", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const { answer, manifest } = await ask(archive);
	expect(manifest.dates).toEqual([]);
	expect(answer.dates).toBeUndefined();
	expect(answer.firstEventDate).toBeUndefined();
});

test("another account sees nothing of a source", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	await archive.publish([
		newEvent("1", { sourceKey: archive.sourceKey, receivedAtMs }),
	]);
	const run = randomUUID();
	const { manifest } = await ask(archive, { run, account: "bank" });
	expect(manifest.dates).toEqual([]);
	expect(await archive.ask(questionOf(archive, { run }))).toMatchObject({
		ok: false,
		error: { code: "ManifestTaken", retryable: false },
	});
});

test("what a restarted archive answers follows from the cut records alone", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const first = await archive.start();
	for (const body of ["1", "2", "3"]) {
		await archive.publish([newEvent(body, { sourceKey, receivedAtMs })]);
		await first.flush();
	}
	await first.stop();
	await archive.start();
	const { manifest } = await ask(archive);
	expect(manifest.dates[0]).toMatchObject({ date: today, rows: 3 });
	expect(manifest.dates[0]!.objects).toHaveLength(3);
});

test("a malformed question is answered with an error", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	expect(
		await archive.ask(questionOf(archive, { run: "../../cuts/x" })),
	).toMatchObject({
		ok: false,
		error: { code: "QuestionInvalid", retryable: false },
	});
});

test("an object that was deleted from the bucket is named, not left out", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { flush } = await archive.start();
	await archive.publish([
		newEvent("1", { sourceKey: archive.sourceKey, receivedAtMs }),
	]);
	await flush();
	const { key } = (await archive.rows())[0]!;
	await archive.tamper(key);
	const answer = await archive.ask(questionOf(archive));
	expect(answer).toMatchObject({ ok: false, error: { code: "ObjectMissing" } });
	// Without the key, which is the platform's.
	const id = objectId(key);
	expect(!answer.ok && answer.error.message).toContain(`object ${id} `);
	expect(!answer.ok && answer.error.message).not.toContain("date=");
});
