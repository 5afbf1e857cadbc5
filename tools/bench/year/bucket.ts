import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import type { LifecycleRule } from "@aws-sdk/client-s3";
import type {
	FileContents,
	Rewriter,
} from "../../../ingest/lake/objects/parquet-rewriter.ts";
import {
	fitTogether,
	type MergeSize,
} from "../../../ingest/lake/objects/parquet-size.ts";
import { objectKeys } from "../../../packages/bucket/object-keys.ts";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";
import { dayMs } from "../../../packages/contracts/utc-date.ts";

/** By S3's names of its price list. DELETE costs nothing. */
export interface Requests {
	put: number;
	get: number;
	list: number;
	delete: number;
}

/** S3 Standard in us-east-1, list prices; see docs/reference/figures.md. */
const dollarsOf: Requests = { put: 5e-6, get: 4e-7, list: 5e-6, delete: 0 };
const dollarsOfByteDay = 0.023 / 1e9 / 30;

export function requestDollars(requests: Requests): number {
	return (Object.keys(dollarsOf) as (keyof Requests)[]).reduce(
		(sum, type) => sum + requests[type] * dollarsOf[type],
		0,
	);
}

export function storageDollars(bytes: number): number {
	return bytes * dollarsOfByteDay;
}

/** Of a page that S3 lists or deletes with one request. */
const keysAtOnce = 1_000;

/** For how many requests and objects one counts. */
interface Scale {
	times: number;
	stands: number;
}

interface Stored {
	key: string;
	bytes: number;
	modifiedMs: number;
	/** How many objects of the real bucket this one stands for. */
	stands: number;
}

/**
 * A bucket in the memory of SQLite, outside V8's heap, so that the heap is archive's alone. It has the simulated clock, removes what
 * its lifecycle rules say, and counts requests as S3 bills them. Like S3, `putNew` writes only a new key (docs.aws.amazon.com, "Add
 * preconditions to S3 operations with conditional requests"), lists are sorted by key in pages of 1,000 (API reference,
 * ListObjectsV2), and a rule counts an object's days from the midnight after its write ("Lifecycle configuration elements").
 *
 * Of Parquet it keeps how many rows each object has, and not the rows.
 */
export class YearBucket implements Store {
	readonly keys = objectKeys("tidemill");
	requests: Requests = noRequests();
	readonly #database = new DatabaseSync(":memory:");
	readonly #insert;
	readonly #replace;
	readonly #read;
	readonly #page;
	readonly #delete;
	readonly #bytesOfRow: number;
	readonly #work = new AsyncLocalStorage<Scale>();
	#rules: LifecycleRule[] = [];
	/** What the files would hold. */
	readonly #files = new Map<string, EventsFile>();

	constructor(bytesOfRow: number) {
		this.#bytesOfRow = bytesOfRow;
		this.#database.exec(
			"CREATE TABLE objects (key TEXT PRIMARY KEY, bytes INT, modified INT, stands INT, rows INT, body TEXT) WITHOUT ROWID",
		);
		const values = "INTO objects VALUES (?, ?, ?, ?, ?, ?)";
		this.#insert = this.#database.prepare(`INSERT OR IGNORE ${values}`);
		this.#replace = this.#database.prepare(`INSERT OR REPLACE ${values}`);
		this.#read = this.#database.prepare("SELECT * FROM objects WHERE key = ?");
		this.#page = this.#database.prepare(
			`SELECT key, bytes, modified AS modifiedMs, stands FROM objects WHERE key >= ? AND key < ? ORDER BY key LIMIT ${keysAtOnce}`,
		);
		this.#delete = this.#database.prepare("DELETE FROM objects WHERE key = ?");
	}

	/** All requests of `work`, and of what it leaves behind, count so many times: it stands for as many equal ones. */
	times<T>(times: number, work: () => Promise<T>): Promise<T> {
		return this.#work.run({ ...this.#scale, times }, work);
	}

	/** Each object that `work` writes stands for so many. */
	standing<T>(stands: number, work: () => Promise<T>): Promise<T> {
		return this.#work.run({ ...this.#scale, stands }, work);
	}

	get #scale(): Scale {
		return this.#work.getStore() ?? { times: 1, stands: 1 };
	}

	/** The requests since the last call. */
	taken(): Requests {
		const { requests } = this;
		this.requests = noRequests();
		return requests;
	}

	/** Of the real bucket. */
	get contents(): { objects: number; bytes: number } {
		const row = this.#database
			.prepare(
				"SELECT coalesce(sum(stands), 0) AS objects, coalesce(sum(stands * bytes), 0) AS bytes FROM objects",
			)
			.get() as { objects: number; bytes: number };
		return { ...row };
	}

	/** For how many an output of a compaction stands, of a whole day. */
	outputStands = 1;

	/** Memory that SQLite holds. */
	get residentBytes(): number {
		const pragma = (name: string) =>
			Number(this.#database.prepare(`PRAGMA ${name}`).get()?.[name]);
		return pragma("page_count") * pragma("page_size");
	}

	/** Writes an object with so many rows of events. */
	putEvents(key: string, rows: number): void {
		this.#count("put", this.#scale.stands);
		this.#insert.run(...this.#values(key, { rows }));
	}

	async putNew(key: string, body: Uint8Array | string) {
		this.#count("put", this.#scale.stands);
		const text = Buffer.from(body).toString();
		const { changes } = this.#insert.run(...this.#values(key, { text }));
		if (changes === 1) return "created";
		return this.#read.get(key)?.body === text ? "created" : "exists";
	}

	async putNewFile(key: string, file: string) {
		const { rows, stands } = this.#files.get(file)!;
		this.#count("put", stands);
		const values = this.#values(key, { rows, stands });
		const { changes } = this.#insert.run(...values);
		return changes === 1 ? "created" : "exists";
	}

	/** Lists of objects; archive never reads them. */
	async put(key: string, text: string): Promise<void> {
		this.#count("put", this.#scale.stands);
		const bytes = Buffer.byteLength(text);
		this.#replace.run(key, bytes, Date.now(), this.#scale.stands, null, null);
	}

	async get(key: string): Promise<string | undefined> {
		const found = this.#read.get(key);
		this.#count("get", Number(found?.stands ?? 1));
		return found?.body === undefined ? undefined : String(found.body);
	}

	async getFile(key: string, file: string): Promise<string | undefined> {
		const found = this.#read.get(key);
		this.#count("get", Number(found?.stands ?? 1));
		if (!found) return undefined;
		const [rows, stands] = [Number(found.rows), Number(found.stands)];
		this.#files.set(file, { rows, stands });
		return createHash("sha256").update(key).digest("hex");
	}

	async putFile(): Promise<void> {
		throw new Error("nobody erases here");
	}

	async getPart(): Promise<undefined> {
		throw new Error("nobody reads events here");
	}

	async *list(prefix: string, after = ""): AsyncGenerator<ListedObject> {
		let from = after > prefix ? `${after}\u0001` : prefix;
		let listed = 0;
		try {
			for (;;) {
				const page = this.#page.all(from, `${prefix}\u{10ffff}`);
				for (const row of page as unknown as Stored[]) {
					listed += row.stands;
					const { key, bytes, modifiedMs } = row;
					yield { key, bytes, modifiedMs };
				}
				if (page.length < keysAtOnce) return;
				from = `${page.at(-1)!.key}\u0001`;
			}
		} finally {
			this.#count("list", Math.max(1, Math.ceil(listed / keysAtOnce)));
		}
	}

	async remove(keys: readonly string[]): Promise<void> {
		let stands = 0;
		for (const key of keys) {
			stands += Number(this.#read.get(key)?.stands ?? 1);
			this.#delete.run(key);
		}
		this.#count("delete", Math.ceil(stands / keysAtOnce));
	}

	async lifecycleRules(): Promise<LifecycleRule[]> {
		return this.#rules;
	}

	async setLifecycleRules(rules: LifecycleRule[]): Promise<boolean> {
		this.#rules = rules;
		return true;
	}

	async abortUploads(): Promise<number> {
		return 0;
	}

	/** Removes what the rules say, as the store does by itself once a day. */
	expire(nowMs: number): void {
		for (const { Filter, Expiration } of this.#rules) {
			const days = Expiration?.Days ?? Infinity;
			const prefix = Filter?.Prefix ?? "";
			const beforeMs = (Math.floor(nowMs / dayMs) - days) * dayMs;
			this.#database
				.prepare(
					"DELETE FROM objects WHERE key > ? AND key < ? AND modified < ?",
				)
				.run(prefix, `${prefix}\u{10ffff}`, beforeMs);
		}
	}

	async presign(key: string): Promise<string> {
		return `memory:${key}`;
	}

	async presignPut(key: string) {
		return { url: `memory:${key}`, headers: {} };
	}

	async linkSeconds(wanted: number): Promise<number> {
		return wanted;
	}

	/**
	 * Adds up what DuckDB would read and merge. A file is as large as one of the objects that it stands for, so the output of a few
	 * simulated objects stands for as many as there would be of all.
	 */
	rewriter(folder: string, bytesOfBody: number): Rewriter {
		const files = this.#files;
		let made = 0;
		const newFile = () => `${folder}/${made++}.parquet`;
		const contentsOf = (file: string): FileContents & { objects: number } => {
			const { rows, stands } = files.get(file)!;
			const bytes = (rows / stands) * bytesOfBody;
			const hashes = BigInt(rows);
			return {
				...{ objects: stands, rows, ids: rows, bytes, hashes },
				// As long as those of a real date.
				...{ fromMs: 1_780_000_000_000, toMs: 1_780_000_060_000 },
			};
		};
		return {
			newFile,
			contents: async (all) => all.map(contentsOf),
			merge: async (all) => {
				const output = newFile();
				await writeFile(output, "");
				const inputs = all.map(contentsOf);
				const rows = inputs.reduce((sum, input) => sum + input.rows, 0);
				const stands = outputsOf(inputs);
				files.set(output, { rows, stands });
				this.outputStands = Math.max(this.outputStands, stands);
				return output;
			},
			remove: async (all) => {
				for (const file of all) files.delete(file);
			},
			close: async () => files.clear(),
		};
	}

	#values(
		key: string,
		{
			text,
			rows,
			stands = this.#scale.stands,
		}: { text?: string; rows?: number; stands?: number },
	): [string, number, number, number, number | null, string | null] {
		const bytes =
			text === undefined
				? ((rows ?? 0) * this.#bytesOfRow) / stands
				: Buffer.byteLength(text);
		return [
			key,
			Math.round(bytes),
			Date.now(),
			stands,
			rows ?? null,
			text ?? null,
		];
	}

	#count(type: keyof Requests, requests: number): void {
		this.requests[type] += this.#scale.times * requests;
	}
}

interface EventsFile {
	rows: number;
	/** See {@link Stored}. */
	stands: number;
}

/** In how many files compaction would put all that these stand for. */
function outputsOf(inputs: readonly (MergeSize & { objects: number })[]) {
	const [first] = inputs;
	if (!first) return 0;
	let inOne = 1;
	const sizeOf = (objects: number) => ({
		objects,
		rows: (objects * first.rows) / first.objects,
		bytes: objects * first.bytes,
	});
	while (fitTogether(sizeOf(inOne + 1))) inOne++;
	const all = inputs.reduce((sum, { objects }) => sum + objects, 0);
	return Math.max(1, Math.round(all / inOne));
}

function noRequests(): Requests {
	return { put: 0, get: 0, list: 0, delete: 0 };
}
