// In make test: test/promises/each-event-is-one-row.laptop.test.ts
import { afterAll, beforeAll, expect, test } from "vitest";
import {
	CompactionFixture,
	dateOf,
	loadedBodies,
	type Step,
	watched,
} from "../../support/fixtures/data-plane/compaction-fixture.ts";
import { openLake } from "../../support/fixtures/data-plane/lake.ts";
import {
	type Servers,
	startServers,
} from "../../support/servers/archive-servers.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

/** Every reader finds each event once, now and after what was replaced has gone; one object is left. */
async function expectWhole(fixture: CompactionFixture) {
	const { bodies, signal, archive } = fixture;
	const lake = await openLake(archive);
	expect(await loadedBodies(await fixture.manifest())).toEqual(bodies);
	expect(await lake.bodies()).toEqual(bodies);
	await fixture.compactor().look(Date.now(), signal);
	await fixture.recordedDaysAgo(2);
	await fixture.compactor().look(Date.now(), signal);
	expect(await fixture.names()).toHaveLength(1);
	const manifest = await fixture.manifest();
	expect(dateOf(manifest).objects).toHaveLength(1);
	expect(await loadedBodies(manifest)).toEqual(bodies);
	expect(await lake.bodies()).toEqual(bodies);
}

test.each<["before" | "after", Step, number]>([
	["before", "getFile", 5],
	["after", "getFile", 12],
	["before", "putNewFile", 1],
	["after", "putNewFile", 1],
	["after", "getFile", 13],
	["before", "putNew", 1],
	["after", "putNew", 1],
])(
	"a compactor that dies %s %s number %i leaves each event to be found once",
	async (...death) => {
		const fixture = await CompactionFixture.open(servers);
		let isDead = false;
		const mortal = fixture.compactor({
			wrapStore: (store) =>
				watched(store, async (...now) => {
					isDead ||= String(now) === String(death);
					if (isDead) throw new Error("dead");
				}),
		});
		await mortal.look(Date.now(), fixture.signal);
		expect(isDead).toBe(true);
		await expectWhole(fixture);
	},
);

test.each<"before" | "after">(["before", "after"])(
	"a compactor that dies %s removing what was replaced leaves each event to be found once",
	async (when) => {
		const fixture = await CompactionFixture.open(servers);
		await fixture.compactor().look(Date.now(), fixture.signal);
		await fixture.recordedDaysAgo(2);
		const mortal = fixture.compactor({
			wrapStore: (store) =>
				watched(store, async (...now) => {
					if (now[0] === when && now[1] === "remove") throw new Error("dead");
				}),
		});
		await mortal.look(Date.now(), fixture.signal);
		await expectWhole(fixture);
	},
);

test("two compactors at once, and one that knows fewer objects, agree on one record", async () => {
	const fixture = await CompactionFixture.open(servers);
	const { signal } = fixture;
	const records = await Promise.all([
		fixture.compactor().compact(0, fixture.due(), signal),
		fixture.compactor().compact(0, fixture.due(), signal),
		fixture.compactor().compact(0, fixture.due(7), signal),
	]);
	expect(records[1]).toEqual(records[0]);
	expect(records[2]).toEqual(records[0]);
	expect(await fixture.record()).toEqual(records[0]);
	const manifest = await fixture.manifest();
	expect(await loadedBodies(manifest)).toEqual(fixture.bodies);
	const lake = await openLake(fixture.archive);
	expect(await lake.bodies()).toEqual(fixture.bodies);
	await fixture.recordedDaysAgo(2);
	await fixture.compactor().look(Date.now(), signal);
	// Whichever won: the outputs of the others are gone, and those that are left hold all events.
	const replaced = records[0].outputs[0]!.inputs.length;
	expect(await fixture.names()).toHaveLength(1 + 12 - replaced);
	expect(await loadedBodies(await fixture.manifest())).toEqual(fixture.bodies);
	expect(await lake.bodies()).toEqual(fixture.bodies);
});

test.each<[string, "before" | "after", Step, number]>([
	["reading", "before", "getFile", 6],
	["writing an output", "before", "putNewFile", 1],
	["looking for its output", "before", "getFile", 8],
	["recording", "before", "putNew", 1],
])(
	"a zombie that falls asleep before %s and wakes when all is over changes nothing",
	async (_, ...moment) => {
		const fixture = await CompactionFixture.open(servers);
		const { signal, bodies } = fixture;
		const asleep = Promise.withResolvers<void>();
		const woken = Promise.withResolvers<void>();
		const zombie = fixture
			.compactor({
				wrapStore: (store) =>
					watched(store, async (...now) => {
						if (String(now) !== String(moment)) return;
						asleep.resolve();
						await woken.promise;
					}),
			})
			// It knows fewer objects, so that it writes others.
			.compact(0, fixture.due(7), signal)
			.catch((error: Error) => error);
		await asleep.promise;
		const compactor = fixture.compactor();
		await compactor.look(Date.now(), signal);
		const record = await fixture.record();
		await fixture.recordedDaysAgo(2);
		await compactor.look(Date.now(), signal);
		woken.resolve();
		await zombie;
		expect(await fixture.record()).toEqual(record);
		const lake = await openLake(fixture.archive);
		expect(await loadedBodies(await fixture.manifest())).toEqual(bodies);
		expect(await lake.bodies()).toEqual(bodies);
		await fixture.compactor().look(Date.now(), signal);
		expect(await fixture.names()).toEqual([record!.outputs[0]!.name]);
	},
);

test("retention that takes the date in the middle ends the compaction, without a record", async () => {
	const fixture = await CompactionFixture.open(servers);
	const { archive } = fixture;
	const folder = archive.keys.eventsOfDate(fixture.due());
	const compactor = fixture.compactor({
		wrapStore: (store) =>
			watched(store, async (...now) => {
				if (String(now) !== "before,getFile,9") return;
				const names = await fixture.names();
				await archive.store.remove(names.map((name) => folder + name));
			}),
	});
	await compactor.look(Date.now(), fixture.signal);
	expect(await fixture.record()).toBeUndefined();
	expect(await fixture.names()).toEqual([]);
});
