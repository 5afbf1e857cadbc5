import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { newEvent } from "../../../test/support/fixtures/data-plane/archive-fixture.ts";
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

test("32 objects of a cut are written at once, so that many Sources don't wait for each other's requests", async () => {
	const store = new BusyStore(32);
	const writer = new CutWriter({
		store,
		tombstones: new Tombstones(store),
		metrics: new ArchiveMetrics(
			new Registry(),
			() => [],
			async () => [],
		),
	});
	const events = Array.from({ length: 100 }, (_, source) =>
		newEvent("1", { sourceKey: source.toString(16).padStart(32, "0") }),
	);
	const frames = [
		{
			sequence: 1,
			timeMs: 0,
			bytes: 1,
			frame: { process: "p", number: 1, voided: [], events },
		},
	];
	const cut = decideCut("stream", {}, frames);
	await writer.write(0, cut, eventsOfCut(cut, frames));
	expect(store.objects.size).toBe(100);
	expect(store.mostAtOnce).toBe(32);
}, 20_000);
