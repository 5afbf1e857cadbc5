// In make test: test/promises/each-event-is-one-row.laptop.test.ts
import { afterAll, beforeAll, expect, test } from "vitest";
import {
	CompactionFixture,
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
