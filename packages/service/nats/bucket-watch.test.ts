import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";
import type { KV, KvWatchEntry } from "@nats-io/kv";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type BucketReader, BucketWatch } from "./bucket-watch.ts";

const log = pino({ level: "silent" });

/** A bucket of nats-server, of which only a reader's side is used (ADR-8). */
class BucketDouble {
	created = 0;
	exists = false;
	entries: [key: string, value: string][] = [];
	#ends: (() => void)[] = [];

	/** As a role that creates the bucket does. */
	readonly create = async (): Promise<KV> => {
		if (!this.exists) this.created++;
		this.exists = true;
		return this as unknown as KV;
	};

	/** No watch hears of it. */
	destroy(): void {
		this.exists = false;
		this.entries = [];
	}

	async status() {
		const description = "stream not found";
		const err_code = JetStreamApiCodes.StreamNotFound;
		if (!this.exists)
			throw new JetStreamApiError({ code: 404, err_code, description });
		const { length } = this.entries;
		const streamInfo = {
			created: `${this.created}`,
			state: { last_seq: length },
		};
		return { values: length, streamInfo };
	}

	async watch() {
		const entries = this.entries.map(([key, value], index) => ({
			...{ key, operation: "PUT", string: () => value, created: new Date() },
			...{ revision: index + 1, isUpdate: index === this.entries.length - 1 },
		}));
		const ended = new Promise<void>((resolve) => this.#ends.push(resolve));
		return Object.assign(
			(async function* () {
				yield* entries as unknown as KvWatchEntry[];
				await ended;
			})(),
			{ stop: () => this.#ends.at(-1)!() },
		);
	}
}

class ReadKeys implements BucketReader {
	readings = 0;
	keys: string[] = [];
	current = 0;
	begin() {
		this.keys = [];
	}
	set(key: string) {
		this.keys.push(key);
	}
	complete() {
		this.readings++;
	}
	seenCurrent() {
		this.current++;
	}
}

let bucket: BucketDouble;
let reader: ReadKeys;
let stop: AbortController;

beforeEach(async () => {
	vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
	bucket = new BucketDouble();
	reader = new ReadKeys();
	stop = new AbortController();
	await bucket.create();
	bucket.entries.push(["a", "1"], ["b", "2"]);
	void new BucketWatch(bucket.create, reader, log).run(stop.signal);
	await vi.waitFor(() => expect(reader.readings).toBe(1));
});

afterEach(() => {
	stop.abort();
	vi.useRealTimers();
});

test("a bucket in which nothing was missed is current, and isn't read again", async () => {
	await vi.advanceTimersByTimeAsync(10_000);
	expect(reader).toMatchObject({ keys: ["a", "b"], readings: 1, current: 2 });
});

test.each<[string, () => Promise<unknown>]>([
	["deleted", async () => {}],
	["deleted and made anew", () => bucket.create()],
])(
	"a bucket that somebody has %s is opened and read again",
	async (_, next) => {
		bucket.destroy();
		await next();
		await vi.advanceTimersByTimeAsync(5_000);
		await vi.waitFor(() => expect(reader.readings).toBe(2));
		expect(bucket.exists).toBe(true);
		expect(reader.keys).toEqual([]);
	},
);
