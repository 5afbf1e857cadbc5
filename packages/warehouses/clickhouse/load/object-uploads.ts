import { linkSync } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { FairLimit } from "../../../fair/fair-limit.ts";
import type { DayObject } from "../../load/load-day.ts";
import { type ParquetUpload, parquetUploads } from "./joined-parquet.ts";

/**
 * Sends a day's objects as they are, the first ones while others are on their way or are checked: a server takes longer to store them than
 * all the rest of a Run does. Nobody may read their rows before all objects are checked.
 */
export class ObjectUploads {
	readonly #send: (upload: ParquetUpload) => Promise<void>;
	readonly #maxBytes: number;
	readonly #firstBytes: number;
	readonly #limit: FairLimit;
	/** Not enough for an upload yet. */
	#waiting: DayObject[] = [];
	readonly #early: DayObject[] = [];
	readonly #sending: Promise<void>[] = [];
	#rows = 0;
	#canBeSent = true;
	#isOver = false;

	/**
	 * @param maxBytes of an upload. A day with less is sent once it is checked.
	 * @param firstBytes with which the first upload begins, as the server has nothing to do before it.
	 */
	constructor(
		send: (upload: ParquetUpload) => Promise<void>,
		{
			maxBytes,
			firstBytes = maxBytes,
			atOnce,
		}: { maxBytes: number; firstBytes?: number; atOnce: number },
	) {
		this.#send = send;
		this.#maxBytes = maxBytes;
		this.#firstBytes = firstBytes;
		this.#limit = new FairLimit({ atOnce });
	}

	/** Whether rows may be in the table that nobody has checked. */
	get hasSentEarly(): boolean {
		return this.#early.length > 0;
	}

	/** Takes an object that has just arrived. */
	add(object: DayObject): void {
		try {
			// A check may put another file in the object's place.
			linkSync(object.file, sentFile(object));
		} catch {
			// Not every file system has links. The object is sent once it is checked.
			return;
		}
		if (bytesOf([...this.#waiting, object]) > this.#maxBytes)
			this.#sendWaiting();
		this.#waiting.push(object);
		if (!this.hasSentEarly && bytesOf(this.#waiting) > this.#firstBytes)
			this.#sendWaiting();
	}

	#sendWaiting(): void {
		const waiting = this.#waiting;
		this.#waiting = [];
		this.#early.push(...waiting);
		this.#begin(waiting.map((early) => ({ file: sentFile(early) })));
	}

	/**
	 * Sends the rest of the objects, which are checked now. Throws what sending throws.
	 * @returns how many rows were sent; undefined if they must be sent in another way, or others were sent than these.
	 */
	async finish(objects: readonly DayObject[]): Promise<number | undefined> {
		const rest = new Map(objects.map((object) => [object.key, object]));
		let areSame = true;
		for (const early of this.#early) {
			const now = rest.get(early.key);
			areSame &&= now !== undefined && (await isSame(early, now));
			rest.delete(early.key);
		}
		if (areSame) this.#begin([...rest.values()]);
		await Promise.all(this.#sending);
		return areSame && this.#canBeSent ? this.#rows : undefined;
	}

	/** Waits for what is under way, whatever comes of it, and sends no more. */
	async end(): Promise<void> {
		this.#isOver = true;
		await Promise.allSettled(this.#sending);
		for (const object of [...this.#early, ...this.#waiting])
			await rm(sentFile(object), { force: true });
	}

	#begin(files: readonly { file: string }[]): void {
		const sending = this.#sendAll(files);
		// Who finishes has the failure.
		sending.catch(() => undefined);
		this.#sending.push(sending);
	}

	async #sendAll(files: readonly { file: string }[]): Promise<void> {
		const uploads = await parquetUploads(files, this.#maxBytes);
		if (!uploads) this.#canBeSent = false;
		const send = async (upload: ParquetUpload) => {
			if (this.#isOver || !this.#canBeSent) return;
			await this.#send(upload);
			this.#rows += upload.rows;
		};
		await Promise.all(
			(uploads ?? []).map((upload) => this.#limit.run("", () => send(upload))),
		);
	}
}

function bytesOf(objects: readonly DayObject[]): number {
	return objects.reduce((sum, { bytes }) => sum + bytes, 0);
}

function sentFile({ file }: DayObject): string {
	return `${file}.sent`;
}

async function isSame(early: DayObject, checked: DayObject): Promise<boolean> {
	const [one, other] = await Promise.all([
		stat(sentFile(early)),
		stat(checked.file),
	]);
	return one.ino === other.ino && early.rows === checked.rows;
}
