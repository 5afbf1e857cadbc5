import {
	importPartBytes,
	maxImportParts,
} from "../../../packages/contracts/transfer.ts";
import { JobFailure } from "../../../packages/warehouses/load/failure.ts";
import { encodeFrameHead } from "../../wire/frame.ts";

/** A frame needs the number of its events first, and its length. */
const headBytes = 4 + encodeFrameHead("00".repeat(16), 0, [], 0).length;

/** Packs events into parts (packages/contracts/transfer.ts). */
export class PartWriter {
	readonly #most: number;
	readonly #store: (index: number, part: Buffer<ArrayBuffer>) => Promise<void>;
	#packed: Buffer[] = [];
	#bytes = headBytes;
	#count = 0;
	#events = 0;

	/** @param most Parts there is room for. @param store Gets each, from index 0. */
	constructor(
		most: number,
		store: (index: number, part: Buffer<ArrayBuffer>) => Promise<void>,
	) {
		this.#most = Math.min(most, maxImportParts);
		this.#store = store;
	}

	/** How many parts are stored. */
	get count(): number {
		return this.#count;
	}

	get events(): number {
		return this.#events;
	}

	/** @param event As a frame has it. Throws {@link JobFailure} ImportTooLarge. */
	async add(event: Buffer): Promise<void> {
		if (this.#bytes + event.length > importPartBytes) await this.end();
		// It may be a view into a chunk that is much larger.
		this.#packed.push(Buffer.from(event));
		this.#bytes += event.length;
		this.#events++;
	}

	/** Stores what is left. */
	async end(): Promise<void> {
		if (this.#packed.length === 0) return;
		if (this.#count === this.#most)
			throw new JobFailure(
				"ImportTooLarge",
				`The events have more than ${this.#most * importPartBytes} bytes`,
			);
		const part = Buffer.alloc(importPartBytes);
		part.writeUInt32BE(this.#bytes - 4);
		const number = this.#count + 1;
		const frame = [
			encodeFrameHead("00".repeat(16), number, [], this.#packed.length),
			...this.#packed,
		];
		Buffer.concat(frame).copy(part, 4);
		await this.#store(this.#count, part);
		this.#count++;
		this.#packed = [];
		this.#bytes = headBytes;
	}
}
