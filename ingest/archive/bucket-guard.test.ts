import { JetStreamApiError } from "@nats-io/jetstream";
import pino from "pino";
import { expect, test } from "vitest";
import { MemoryStore } from "../../test/support/doubles/memory-store.ts";
import { BucketGuard } from "./bucket-guard.ts";
import type { BucketMark, KnownBucket } from "./decide/bucket-verdict.ts";
import { BucketMarks } from "./write/bucket-marks.ts";

const noRoom = new JetStreamApiError({
	code: 503,
	err_code: 10023,
	description: "insufficient resources",
});

/** What is told while an archive with this bucket starts, and whether it does its work. */
async function start(
	store: MemoryStore,
	nats: { known?: KnownBucket; note?: (mark: BucketMark) => void },
) {
	const stop = new AbortController();
	const { signal } = stop;
	const told: unknown[] = [];
	const tell = (...words: unknown[]) => {
		told.push(words.at(-1));
	};
	const guard = new BucketGuard({
		marks: new BucketMarks(store),
		progress: async () => ({
			bucket: async () => nats.known,
			noteBucket: async (mark) => {
				nats.note?.(mark);
				nats.known = mark;
			},
		}),
		place: "s3://events/tidemill",
		metrics: {
			bucketRefused: {
				set: (value: unknown) => {
					tell(value);
					if (value === 1) stop.abort();
				},
			},
		},
		log: pino({ level: "silent" }),
	});
	let isAtWork = false;
	await guard.whileAccepted(signal, async () => {
		isAtWork = true;
		stop.abort();
	});
	return { guard, isAtWork, told };
}

test("a new bucket gets an id before the work begins, and NATS the same", async () => {
	const store = new MemoryStore();
	const nats: { known?: KnownBucket } = {};
	expect(await start(store, nats)).toMatchObject({ isAtWork: true, told: [0] });
	const mark = await new BucketMarks(store).newest();
	expect(mark).toMatchObject({ number: 1 });
	expect(nats.known).toEqual(mark);
	expect([...store.objects.keys()]).toEqual([store.keys.bucketMark(1)]);
});

test("the work doesn't begin on another bucket, which stays as it is", async () => {
	const store = new MemoryStore();
	const { guard, ...found } = await start(store, {
		known: { id: "one", number: 3 },
	});
	expect(found).toEqual({ isAtWork: false, told: [1] });
	expect(guard.isRefused).toBe(true);
	expect(guard.notReady).toMatch(/^BucketIsAnother: s3:\/\/events\/tidemill /);
	expect(store.objects.size).toBe(0);
});

test("a NATS without room doesn't keep archive from making room", async () => {
	const note = () => {
		throw noRoom;
	};
	const found = await start(new MemoryStore(), { note });
	expect(found).toMatchObject({ isAtWork: true, told: [0] });
});

test("the number doesn't grow faster while NATS has no room to know the bucket", async () => {
	const store = new MemoryStore();
	const stop = new AbortController();
	let polls = 0;
	const guard = new BucketGuard({
		marks: new BucketMarks(store),
		progress: async () => ({
			async bucket() {
				if (++polls === 20) stop.abort();
				return undefined;
			},
			async noteBucket() {
				throw noRoom;
			},
		}),
		...{ place: "it", pollMs: 0, log: pino({ level: "silent" }) },
		metrics: { bucketRefused: { set: () => undefined } },
	});
	await guard.whileAccepted(stop.signal, async () => undefined);
	expect(await new BucketMarks(store).newest()).toMatchObject({ number: 1 });
});

test("of an archive that removes a mark while it is read, the newer one counts", async () => {
	const store = new MemoryStore();
	const marks = new BucketMarks(store);
	const at = (number: number) => ({ id: "one", number });
	await marks.write(at(1));
	const get = store.get.bind(store);
	store.get = async (key) => {
		store.get = get;
		await marks.write(at(2));
		return get(key);
	};
	expect(await marks.newest()).toEqual(at(2));
	expect(await marks.write({ id: "two", number: 2 })).toBe(false);
});
