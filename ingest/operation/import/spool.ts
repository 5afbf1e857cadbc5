import { createReadStream } from "node:fs";
import { appendFile } from "node:fs/promises";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { encodeEvent } from "../../wire/frame.ts";
import type { ImportedEvent } from "./event-of-row.ts";

const mostBytesHeld = 8 * 1024 ** 2;

/** An event as a frame has it. */
export interface SpooledEvent {
	id: string;
	bytes: Buffer;
}

/** Events on the disk, a file for each date: a part holds few dates, and each date few objects. */
export class EventSpool {
	readonly #directory: string;
	readonly #source: { account: string; sourceKey: string };
	/** IDs by date. */
	readonly #ids = new Map<UtcDate, Set<string>>();
	#held = new Map<UtcDate, Buffer[]>();
	#bytesHeld = 0;
	#bytes = 0;
	#events = 0;

	constructor(
		directory: string,
		source: { account: string; sourceKey: string },
	) {
		this.#directory = directory;
		this.#source = source;
	}

	/** As they take in parts. */
	get bytes(): number {
		return this.#bytes;
	}

	get events(): number {
		return this.#events;
	}

	/** Ascending. */
	get dates(): UtcDate[] {
		return [...this.#ids.keys()].sort();
	}

	has(date: UtcDate, id: string): boolean {
		return this.#ids.get(date)?.has(id) ?? false;
	}

	/** False if the event is there already. */
	async add(event: ImportedEvent): Promise<boolean> {
		const { id, timeMs, date, kind, headers, body } = event;
		const ids = this.#ids.get(date) ?? new Set();
		this.#ids.set(date, ids);
		const text = uuidText(id);
		if (ids.has(text)) return false;
		ids.add(text);
		this.#events++;
		const [head, rest] = encodeEvent({
			...this.#source,
			id,
			receivedAtMs: timeMs,
			kind,
			headers,
			violations: "",
			body,
		});
		const held = this.#held.get(date) ?? [];
		this.#held.set(date, held);
		held.push(head, Buffer.from(rest));
		this.#bytes += head.length + rest.length;
		this.#bytesHeld += head.length + rest.length;
		if (this.#bytesHeld > mostBytesHeld) await this.flush();
		return true;
	}

	async flush(): Promise<void> {
		for (const [date, buffers] of this.#held)
			await appendFile(this.#file(date), Buffer.concat(buffers));
		this.#held = new Map();
		this.#bytesHeld = 0;
	}

	/** After {@link flush}: the events of a date, as they came. */
	async *of(date: UtcDate): AsyncGenerator<SpooledEvent> {
		let left: Buffer = Buffer.alloc(0);
		for await (const chunk of createReadStream(this.#file(date), {
			highWaterMark: 1024 ** 2,
		}) as AsyncIterable<Buffer>) {
			left = left.length === 0 ? chunk : Buffer.concat([left, chunk]);
			let at = 0;
			for (;;) {
				const end =
					left.length < at + 4 ? Infinity : at + 4 + left.readUInt32BE(at);
				if (end > left.length) break;
				const bytes = left.subarray(at, end);
				yield { id: uuidText(bytes.subarray(4, 20)), bytes };
				at = end;
			}
			left = left.subarray(at);
		}
	}

	#file(date: UtcDate): string {
		return `${this.#directory}/${date}.events`;
	}
}

function uuidText(id: Buffer): string {
	const hex = id.toString("hex");
	return [
		hex.slice(0, 8),
		hex.slice(8, 12),
		hex.slice(12, 16),
		hex.slice(16, 20),
		hex.slice(20),
	].join("-");
}
