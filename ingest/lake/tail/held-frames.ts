import type { ScannedEvent } from "../../wire/frame-scan.ts";

interface HeldFrame {
	sequence: number;
	scanned: ScannedEvent[];
}

/** New frames that wait until a tail has the earlier ones that it asked for. */
export class HeldFrames {
	readonly #room: HeldBytes;
	readonly #account: string;
	#frames: HeldFrame[] = [];
	#bytes = 0;

	constructor(room: HeldBytes, account: string) {
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
		this.#room.give(this.#account, this.#bytes);
		this.#frames = [];
		this.#bytes = 0;
		return frames;
	}
}

/** What all tails of a process hold. An account may hold as much as is still free, so another one always finds room. */
export class HeldBytes {
	readonly #max: number;
	#all = 0;
	readonly #accounts = new Map<string, number>();

	constructor(max = 32 * 1024 * 1024) {
		this.#max = max;
	}

	take(account: string, bytes: number): boolean {
		const own = (this.#accounts.get(account) ?? 0) + bytes;
		if (own > this.#max - this.#all - bytes) return false;
		this.#all += bytes;
		this.#accounts.set(account, own);
		return true;
	}

	give(account: string, bytes: number): void {
		this.#all -= bytes;
		const left = (this.#accounts.get(account) ?? 0) - bytes;
		if (left > 0) this.#accounts.set(account, left);
		else this.#accounts.delete(account);
	}
}
