// In make test: ingest/lake/early/early-requests.test.ts
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Store } from "../../packages/bucket/object-store.ts";
import type {
	Manifest,
	ManifestRequest,
} from "../../packages/contracts/manifest.ts";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import {
	ArchiveFixture,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { loadFixture } from "../support/fixtures/data-plane/load-fixture.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";

/*
 * A cut has an object for each Source of the shard. So a Run doesn't cause one: it gets what its Source has in no cut as an object of
 * its own. Whatever is cut afterwards, each event is one row.
 */

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

/** Of all events: midnight may come at any moment. */
const receivedAtMs = Date.now();
const today = utcDate(receivedAtMs);
/** Only what is asked for is cut. */
const later = { maxAgeMs: 600_000 };
const others = Array.from({ length: 9 }, (_, n) => String(n).repeat(32));

async function scene() {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	let number = 0;
	const sent: string[] = [];
	/** So many events of the Source, and one of each other Source. */
	const publish = async (count: number) => {
		const own = Array.from({ length: count }, () => String(number++));
		sent.push(...own);
		await archive.publish([
			...own.map((body) => newEvent(body, { sourceKey, receivedAtMs })),
			...others.map((key) => newEvent("0", { sourceKey: key, receivedAtMs })),
		]);
	};
	let before: Manifest | undefined;
	/** As a scheduled Run of a Pipeline does. */
	const manifest = async (more: Partial<ManifestRequest> = {}) => {
		const answer = await archive.ask({
			run: randomUUID(),
			account: "shop",
			sourceKey,
			extent: "Whole",
			...(before && {
				follows: { run: before.run, since: before.snapshotTime },
			}),
			...more,
		});
		if (!answer.ok) throw new Error(answer.error.message);
		before = (await (await fetch(answer.url)).json()) as Manifest;
		return before;
	};
	const keys = async (folder: string) =>
		(
			await Array.fromAsync(archive.store.list(`${archive.prefix}/${folder}/`))
		).map(({ key }) => key);
	return { archive, sourceKey, publish, manifest, keys, sent };
}

/** Something happens before each PUT. */
function beforePut(
	store: Store,
	happens: (key: string) => Promise<void>,
): Store {
	return new Proxy(store, {
		get(target, name) {
			if (name === "putNew")
				return async (...put: Parameters<Store["putNew"]>) => {
					await happens(put[0]);
					return target.putNew(...put);
				};
			const value = Reflect.get(target, name);
			return typeof value === "function" ? value.bind(target) : value;
		},
	});
}

const dayOf = ({ dates }: Manifest) =>
	dates.find(({ date }) => date === today)!;

test("a Run gets what its Source has in no cut as an object of its own, and nothing is cut", async () => {
	const { archive, sourceKey, publish, manifest, keys } = await scene();
	await archive.start(later);
	await publish(3);
	const repeated = await archive.lastSequence();
	await publish(2);
	// Under another message id, as after the server's window.
	await archive.publish([newEvent("repeated", { sourceKey, receivedAtMs })], {
		number: repeated,
		messageId: randomUUID(),
	});
	await archive.publish([
		newEvent("apart", { sourceKey, receivedAtMs, quarantined: true }),
	]);
	const { rows, objects } = dayOf(await manifest());
	expect(rows).toBe(5);
	expect(objects).toHaveLength(1);
	expect(objects.map(({ key }) => key)).toEqual(await keys("early"));
	expect(await keys("events")).toEqual([]);
	// A Run of the same moment has the same object.
	expect(dayOf(await manifest()).objects[0]).toMatchObject({
		key: objects[0]!.key,
		rows: 5,
	});
	expect(await keys("early")).toHaveLength(1);
});

test("a Run of a shard where few Sources have events has them cut", async () => {
	const { archive, sourceKey, manifest, keys } = await scene();
	await archive.start(later);
	await archive.publish([newEvent("1", { sourceKey, receivedAtMs })]);
	const { objects } = dayOf(await manifest());
	expect(objects.map(({ key }) => key)).toEqual(await keys("events"));
	expect(await keys("early")).toEqual([]);
});

test("what needs quarantine, or is for an Operation, has all events cut", async () => {
	for (const more of [{ quarantine: true }, { report: true }]) {
		const { archive, publish, manifest, keys } = await scene();
		await archive.start(later);
		await publish(1);
		expect(dayOf(await manifest(more)).rows).toBe(1);
		expect(await keys("events")).toHaveLength(1 + others.length);
		expect(await keys("early")).toEqual([]);
	}
});

test("scheduled Runs insert each event once, whether they see it early, cut, or both", async () => {
	const { archive, sourceKey, publish, manifest, sent } = await scene();
	const { load, rows } = await loadFixture();
	let running = await archive.start(later);
	const run = async (adds: number) => {
		const end = await load(await manifest(), { input: { adds: true } });
		expect(end.exitCode, end.log).toBe(0);
		expect(end.result).toMatchObject({
			rows: sent.length,
			addedRows: adds,
		});
		expect(end.result).not.toHaveProperty("repairedDates");
		const found = await rows("select body from orders order by body::int");
		expect(found.map(([body]) => body)).toEqual(sent);
		return end.result;
	};
	await publish(3);
	await run(3);
	await run(0);
	// More of the same cut to come.
	await publish(2);
	await run(2);
	// The cut has what two Runs have loaded, and more.
	await publish(4);
	await running.flush();
	await run(4);
	// Cut and early in one Run.
	await publish(1);
	await run(1);
	await publish(1);
	await running.flush();
	await publish(2);
	await run(3);
	// Cut without anything new: nothing is read.
	await running.flush();
	expect(await run(0)).toMatchObject({ objects: 0 });
	// Another archive goes on after a Run.
	await publish(2);
	await run(2);
	await running.stop();
	running = await archive.start(later);
	await publish(1);
	await run(1);
	// Two cuts hold what one early object held.
	await publish(1);
	await run(1);
	await running.stop();
	running = await archive.start({ ...later, maxBytes: 1 });
	await running.flush();
	await running.stop();
	running = await archive.start(later);
	await run(0);
	await publish(1);
	await run(1);
	await running.flush();
	const source = running.shard.index.source("shop", sourceKey)!;
	expect(source.objects.get(today)!.rows).toBe(sent.length);
});

test("what is cut while a manifest is made counts in it once", async () => {
	const { archive, publish, manifest, sent } = await scene();
	const { load, rows } = await loadFixture();
	const running = await archive.start({
		...later,
		wrapStore: (store) =>
			beforePut(store, async (key) => {
				if (!key.includes("/early/")) return;
				await publish(2);
				await running.flush();
			}),
	});
	await publish(1);
	await running.flush();
	await publish(3);
	const first = await manifest();
	expect(dayOf(first).rows).toBe(4);
	expect(dayOf(first).objects.map(({ rows }) => rows)).toEqual([1, 3]);
	await load(first, { input: { adds: true } });
	const end = await load(await manifest(), { input: { adds: true } });
	expect(end.result).toMatchObject({ rows: 6, addedRows: 2 });
	const found = await rows("select body from orders order by body::int");
	expect(found.map(([body]) => body)).toEqual(sent);
});

test.each(["/early/", "-through.json", "/runs/"])(
	"a Run that is asked for again after a failure at %s has each event once",
	async (part) => {
		const { archive, publish, manifest, sent } = await scene();
		const { load, rows } = await loadFixture();
		let failures = 0;
		await archive.start({
			...later,
			wrapStore: (store) =>
				beforePut(store, async (key) => {
					if (key.includes(part) && failures++ === 0)
						throw new Error("the store is away");
				}),
		});
		await publish(3);
		const run = randomUUID();
		await expect(manifest({ run })).rejects.toThrow();
		// It comes into the same Run, as it isn't in the first try's early object.
		await publish(2);
		await load(await manifest({ run }), { input: { adds: true } });
		await publish(1);
		const end = await load(await manifest(), { input: { adds: true } });
		expect(end.result).toMatchObject({ rows: 6 });
		const found = await rows("select body from orders order by body::int");
		expect(found.map(([body]) => body)).toEqual(sent);
		expect(failures).toBeGreaterThan(0);
	},
);

test("an archiver that stands by reads for a Run, knows the other's cuts, and cuts nothing", async () => {
	const { archive, publish, manifest, keys } = await scene();
	const active = await archive.start(later);
	await publish(1);
	await active.flush();
	await archive.start(later);
	await active.closeResponders();
	const cutKeys = await keys("events");
	for (let round = 0; round < 2; round++) {
		await publish(2);
		const { rows, objects } = dayOf(await manifest());
		expect(rows).toBe(1 + 2 * (round + 1));
		expect(objects.map((object) => object.rows)).toEqual(
			round === 0 ? [1, 2] : [1, 2, 2],
		);
		expect(await keys("events")).toHaveLength(cutKeys.length * (round + 1));
		await active.flush();
	}
});

test("a table whose early events no manifest explains is replaced, and has each event once", async () => {
	const { archive, publish, manifest, sent } = await scene();
	const { load, rows } = await loadFixture();
	const running = await archive.start(later);
	await publish(3);
	await load(await manifest(), { input: { adds: true } });
	await publish(2);
	await running.flush();
	// As after a Run whose success nobody noted.
	const unknown = { follows: { run: "gone", since: new Date().toISOString() } };
	const end = await load(await manifest(unknown), { input: { adds: true } });
	expect(end.result).toMatchObject({ rows: 5, addedRows: 5 });
	const found = await rows("select body from orders order by body::int");
	expect(found.map(([body]) => body)).toEqual(sent);
});

test("a table with early events that never came into a cut is replaced", async () => {
	const { archive, publish, manifest, sent } = await scene();
	const { load, rows } = await loadFixture();
	const running = await archive.start(later);
	await publish(3);
	const first = await manifest();
	await load(first, { input: { adds: true } });
	await publish(2);
	await running.flush();
	const second = await manifest();
	const day = dayOf(second);
	// As if the stream had lost one of the early events: the name says which rows the table holds, and the object has another.
	const {
		archive: other,
		publish: publishOther,
		manifest: ofOther,
	} = await scene();
	await other.start(later);
	await publishOther(3);
	const strange = dayOf(await ofOther()).objects[0]!;
	day.earlier = day.earlier!.map((object) => ({
		...object,
		url: strange.url,
		bytes: strange.bytes,
	}));
	const end = await load(second, { input: { adds: true } });
	expect(end.exitCode, end.log).toBe(0);
	expect(end.result).toMatchObject({ rows: 5 });
	expect(end.result).not.toHaveProperty("addedRows");
	const found = await rows("select body from orders order by body::int");
	expect(found.map(([body]) => body)).toEqual(sent);
});

test("new links lead to the early object, and a deleted Source leaves none", async () => {
	const { archive, publish, manifest, keys } = await scene();
	await archive.start(later);
	await publish(2);
	const { run } = await manifest();
	const renewed = await manifest({ run, renew: true });
	const [object] = dayOf(renewed).objects;
	expect((await fetch(object!.url)).status).toBe(200);
	expect(await archive.askDeletion()).toMatchObject({ isDone: true });
	expect(await keys("early")).toEqual([]);
	expect(await keys("events")).toHaveLength(others.length);
});
