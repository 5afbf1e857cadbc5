import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { newEvent } from "../../../test/support/fixtures/data-plane/archive-fixture.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";
import { decideCut, eventsOfCut } from "../decide/cut.ts";
import { ArchiveMetrics } from "./archive-metrics.ts";
import { CutWriter } from "./cut-writer.ts";
import { Tombstones } from "./tombstones.ts";

/** Holds each write back until this many are under way. */
class BusyStore extends MemoryStore {
	mostAtOnce = 0;
	#atOnce = 0;
	readonly #enough = Promise.withResolvers<void>();
	readonly #count: number;

	constructor(count: number) {
		super();
		this.#count = count;
	}

	override async putNew(key: string, body: Uint8Array | string) {
		this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#atOnce);
		if (this.#atOnce === this.#count) this.#enough.resolve();
		await this.#enough.promise;
		this.#atOnce--;
		return super.putNew(key, body);
	}
}

/** Writes a cut of these events. */
async function write(
	store: MemoryStore,
	tombstones: Pick<Tombstones, "has">,
	events: FrameEvent[],
) {
	const writer = new CutWriter({
		store,
		tombstones: tombstones as Tombstones,
		metrics: new ArchiveMetrics(
			new Registry(),
			() => [],
			async () => [],
		),
	});
	const frame = { process: "p", number: 1, voided: [], events };
	const frames = [{ sequence: 1, timeMs: 0, bytes: 1, frame }];
	const cut = decideCut("stream", {}, frames);
	await writer.write(0, cut, eventsOfCut(cut, frames));
}

function eventOf(source: number, more: Partial<FrameEvent> = {}): FrameEvent {
	const sourceKey = source.toString(16).padStart(32, "0");
	return newEvent("1", { sourceKey, ...more });
}

test("32 objects of a cut are written at once, so that many Sources don't wait for each other's requests", async () => {
	const store = new BusyStore(32);
	const events = Array.from({ length: 100 }, (_, source) => eventOf(source));
	await write(store, new Tombstones(store), events);
	expect(store.objects.size).toBe(100);
	expect(store.mostAtOnce).toBe(32);
}, 20_000);

test("a Source that is deleted gets no object, and what is in quarantine gets one apart", async () => {
	const store = new MemoryStore();
	const deleted = eventOf(1).sourceKey;
	await write(store, { has: ({ sourceKey }) => sourceKey === deleted }, [
		eventOf(1),
		eventOf(2),
		eventOf(2, { quarantined: true }),
	]);
	const source = `account=shop/source=${eventOf(2).sourceKey}/`;
	expect([...store.objects.keys()].sort()).toEqual([
		expect.stringMatching(`^events/${source}`),
		expect.stringMatching(`^quarantine/${source}`),
	]);
});
