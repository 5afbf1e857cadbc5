import { maxLogEndBytes } from "../../contracts/job.ts";

/**
 * Keeps the last lines of a log for the Job's result. They outlive the Pod, and nobody needs a permission for the
 * namespace's Pods to read them.
 */
export class LogEnd {
	readonly #lines: string[] = [];
	#bytes = 0;

	/** @param line ends with a line feed, as pino writes it. */
	write(line: string): void {
		const bytes = Buffer.byteLength(line);
		if (bytes > maxLogEndBytes) return;
		this.#lines.push(line);
		this.#bytes += bytes;
		while (this.#bytes > maxLogEndBytes)
			this.#bytes -= Buffer.byteLength(this.#lines.shift()!);
	}

	get text(): string {
		return this.#lines.join("");
	}
}
