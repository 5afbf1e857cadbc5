import { type RequestRefusal, refusals } from "../request/refusal.ts";

/** Smaller pieces share a part, so that a body in a million pieces doesn't take a hundred times its bytes. */
const partBytes = 4_096;

/** A body while it arrives. */
export class BodyParts {
	#parts: Buffer[] = [];
	/** The last part, if it collects small pieces. */
	#tail: Buffer | undefined;
	#tailBytes = 0;

	add(piece: Buffer): void {
		if (this.#parts.length === 0 || piece.length >= partBytes) {
			this.#endTail();
			this.#parts.push(piece);
			return;
		}
		if (!this.#tail || this.#tailBytes + piece.length > partBytes) {
			this.#endTail();
			this.#tail = Buffer.allocUnsafeSlow(partBytes);
			this.#parts.push(this.#tail);
		}
		this.#tailBytes += piece.copy(this.#tail, this.#tailBytes);
	}

	/** All bytes so far, in order. */
	get all(): readonly Buffer[] {
		this.#endTail();
		return this.#parts;
	}

	#endTail(): void {
		if (!this.#tail) return;
		this.#parts[this.#parts.length - 1] = this.#tail.subarray(
			0,
			this.#tailBytes,
		);
		this.#tail = undefined;
		this.#tailBytes = 0;
	}
}

let scratch = Buffer.alloc(0);

/**
 * Joins the parts into a buffer that is valid until the next call. Allocating a copy of every large body would keep the
 * garbage collector running.
 */
export function inOnePiece(parts: readonly Buffer[]): Buffer {
	if (parts.length === 1) return parts[0]!;
	const bytes = parts.reduce((sum, part) => sum + part.length, 0);
	if (scratch.length < bytes) scratch = Buffer.allocUnsafeSlow(bytes);
	let at = 0;
	for (const part of parts) at += part.copy(scratch, at);
	return scratch.subarray(0, bytes);
}

/** Joins the parts into a buffer of their own, whose bytes are taken of receive's memory, too. */
export function inOneBuffer(
	parts: readonly Uint8Array[],
	take: (bytes: number) => boolean,
): Buffer | RequestRefusal {
	const [first] = parts;
	if (parts.length === 1)
		return Buffer.from(first!.buffer, first!.byteOffset, first!.length);
	const bytes = parts.reduce((sum, { length }) => sum + length, 0);
	return take(bytes) ? Buffer.concat(parts, bytes) : refusals.Overloaded;
}
