/**
 * Memory that one frame after the other is put together in. New memory for each would have the garbage collector run
 * for bytes that nobody else sees.
 */
export class FrameMemory {
	#spare: Buffer | undefined;

	/** The parts as one. It must not be changed or given back while anybody reads it. */
	join(parts: readonly Uint8Array[]): Buffer {
		const bytes = parts.reduce((sum, part) => sum + part.length, 0);
		const spare = this.#spare;
		this.#spare = undefined;
		const whole =
			spare && spare.length >= bytes
				? spare
				: Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(bytes)));
		let at = 0;
		for (const part of parts) {
			whole.set(part, at);
			at += part.length;
		}
		return whole.subarray(0, bytes);
	}

	/** Nobody reads any more what was joined last. */
	giveBack(joined: Uint8Array): void {
		this.#spare = Buffer.from(joined.buffer);
	}
}
