import type { FairRoom } from "../../../packages/fair/fair-room.ts";
import type { ScannedEvent } from "../../wire/frame-scan.ts";

interface HeldFrame {
	sequence: number;
	scanned: ScannedEvent[];
}

/** What all tails of a process hold, in bytes. */
export const maxHeldBytes = 32 * 1024 * 1024;

/** New frames that wait until a tail has the earlier ones that it asked for. */
export class HeldFrames {
	readonly #room: FairRoom;
	readonly #account: string;
	#frames: HeldFrame[] = [];
	#bytes = 0;

	constructor(room: FairRoom, account: string) {
		this.#room = room;
		this.#account = account;
	}

	/** @param bytes of the whole frame, which an event keeps in memory. Returns false when there is no room. */
	add(frame: HeldFrame, bytes: number): boolean {
		if (!this.#room.take(this.#account, bytes)) return false;
		this.#frames.push(frame);
		this.#bytes += bytes;
		return true;
	}

	/** Holds nothing any more, and returns what it held. */
	letGo(): HeldFrame[] {
		const frames = this.#frames;
		this.#room.giveBack(this.#account, this.#bytes);
		this.#frames = [];
		this.#bytes = 0;
		return frames;
	}
}
