import { closeSync, openSync, writeSync } from "node:fs";

/**
 * The log of one running container, in records of the Container Runtime Interface, which tools know:
 * `<RFC 3339 time> stdout|stderr F|P <text>`, where P marks a part of a line that continues. Writes are synchronous, so
 * {@link sizeBytes} bytes can always be read. The log has no limit and is removed with the Pod.
 */
export class ContainerLog {
	readonly #file: number;
	readonly #onLost: (error: unknown) => void;
	readonly #unfinished = { stdout: empty, stderr: empty };
	#waiting: (() => void)[] = [];
	sizeBytes = 0;
	isClosed = false;

	/** @param onLost hears once when a record can't be written (a full disk). The container continues without a log. */
	constructor(path: string, onLost: (error: unknown) => void) {
		this.#file = openSync(path, "w", 0o600);
		let isReported = false;
		this.#onLost = (error) => {
			if (!isReported) onLost(error);
			isReported = true;
		};
	}

	append(stream: LogStream, bytes: Buffer, nowMs: number): void {
		let rest = Buffer.concat([this.#unfinished[stream], bytes]);
		for (;;) {
			const end = rest.indexOf(newline);
			if (end !== -1 && end <= maxPartBytes) {
				this.#write(stream, "F", rest.subarray(0, end), nowMs);
				rest = rest.subarray(end + 1);
			} else if (rest.length > maxPartBytes) {
				this.#write(stream, "P", rest.subarray(0, maxPartBytes), nowMs);
				rest = rest.subarray(maxPartBytes);
			} else break;
		}
		this.#unfinished[stream] = rest;
		this.#wake();
	}

	close(nowMs: number): void {
		for (const stream of ["stdout", "stderr"] as const)
			if (this.#unfinished[stream].length > 0)
				this.#write(stream, "F", this.#unfinished[stream], nowMs);
		this.isClosed = true;
		closeSync(this.#file);
		this.#wake();
	}

	/** Settles when the log has more bytes than `sizeBytes`, is closed, or the signal fires. */
	async grownBeyond(sizeBytes: number, signal: AbortSignal): Promise<void> {
		const { promise, resolve } = Promise.withResolvers<void>();
		signal.addEventListener("abort", () => resolve(), { once: true });
		while (this.sizeBytes <= sizeBytes && !this.isClosed && !signal.aborted)
			await Promise.race([
				promise,
				new Promise<void>((grown) => this.#waiting.push(grown)),
			]);
	}

	#write(
		stream: LogStream,
		tag: "F" | "P",
		content: Buffer,
		nowMs: number,
	): void {
		const head = `${new Date(nowMs).toISOString()} ${stream} ${tag} `;
		const record = Buffer.concat([Buffer.from(head), content, lineEnd]);
		try {
			this.sizeBytes += writeSync(this.#file, record);
		} catch (error) {
			this.#onLost(error);
		}
	}

	#wake(): void {
		for (const grown of this.#waiting.splice(0)) grown();
	}
}

export type LogStream = "stdout" | "stderr";

interface LogRecord {
	/** RFC 3339. */
	time: string;
	/** With the line end, unless the line continues in the next record. */
	content: Buffer;
}

/** Parses one record, given with its line end; undefined for anything else. */
export function parseRecord(record: Buffer): LogRecord | undefined {
	const match = /^(\S+) (?:stdout|stderr) ([FP]) /.exec(
		record.toString("latin1", 0, maxHeadBytes),
	);
	if (!match) return undefined;
	const end = match[2] === "F" ? record.length : record.length - 1;
	return {
		time: match[1]!,
		content: record.subarray(match[0].length, end),
	};
}

/** containerd splits lines at this length. */
const maxPartBytes = 16 * 1024;
const maxHeadBytes = 48;
const newline = 0x0a;
const lineEnd = Buffer.from("\n");
const empty = Buffer.alloc(0);
