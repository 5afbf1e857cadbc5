import { maxLogBytes } from "../../packages/contracts/job.ts";

/**
 * Keeps the last lines of a log, which outlive the Pod. Nobody needs a permission for the namespace's Pods to read them.
 */
export class LogEnd {
	readonly #lines: string[] = [];
	#bytes = 0;

	/** @param line ends with a line feed, as pino writes it. */
	write(line: string): void {
		const bytes = Buffer.byteLength(line);
		if (bytes > maxLogBytes) return;
		this.#lines.push(line);
		this.#bytes += bytes;
		while (this.#bytes > maxLogBytes)
			this.#bytes -= Buffer.byteLength(this.#lines.shift()!);
	}

	/** Whole lines, the last ones, of at most so many bytes. A longer line is left out. */
	last(maxBytes: number): string {
		const lines: string[] = [];
		let room = maxBytes;
		for (const line of this.#lines.toReversed()) {
			const bytes = Buffer.byteLength(line);
			if (bytes > maxBytes) continue;
			if (bytes > room) break;
			room -= bytes;
			lines.push(line);
		}
		return lines.reverse().join("");
	}
}
