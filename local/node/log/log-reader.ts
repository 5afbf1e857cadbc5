import { createReadStream } from "node:fs";
import { type ContainerLog, parseRecord } from "../container-log.ts";
import type { LogOptions } from "./log-options.ts";

/**
 * Yields a container's log as the options ask. With `follow` it ends when the container has ended and all is read, or when
 * the signal fires.
 * @param growing the log of a running container; undefined when the container has ended.
 */
export async function* readLog(
	path: string,
	options: LogOptions,
	growing: ContainerLog | undefined,
	signal: AbortSignal,
): AsyncGenerator<Buffer> {
	let leftBytes = options.limitBytes ?? Number.POSITIVE_INFINITY;
	for await (const record of records(path, options, growing, signal)) {
		const text = render(record, options);
		if (!text) continue;
		yield text.subarray(0, leftBytes);
		leftBytes -= text.length;
		if (leftBytes <= 0) return;
	}
}

function render(record: Buffer, options: LogOptions): Buffer | undefined {
	const parsed = parseRecord(record);
	if (!parsed) return undefined;
	const { sinceMs = Number.NEGATIVE_INFINITY, timestamps } = options;
	if (Date.parse(parsed.time) < sinceMs) return undefined;
	return timestamps
		? Buffer.concat([Buffer.from(`${parsed.time} `), parsed.content])
		: parsed.content;
}

async function* records(
	path: string,
	{ tailLines, follow }: LogOptions,
	growing: ContainerLog | undefined,
	signal: AbortSignal,
): AsyncGenerator<Buffer> {
	let start = tailLines === undefined ? 0 : await tailStart(path, tailLines);
	let rest: Buffer = Buffer.alloc(0);
	for (;;) {
		// Before the read, or output between the read and this question would be lost.
		const isLast = !follow || !growing || growing.isClosed;
		for await (const chunk of createReadStream(path, { start })) {
			start += (chunk as Buffer).length;
			rest = Buffer.concat([rest, chunk as Buffer]);
			for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n")) {
				yield rest.subarray(0, end + 1);
				rest = rest.subarray(end + 1);
			}
		}
		if (isLast || signal.aborted) return;
		await growing.grownBeyond(start, signal);
	}
}

/** Where the last records of the file begin, in bytes. */
async function tailStart(path: string, records: number): Promise<number> {
	/** The starts of the latest records, and of the record that would come next. */
	const starts = [0];
	let position = 0;
	for await (const chunk of createReadStream(path)) {
		const bytes = chunk as Buffer;
		for (let end = bytes.indexOf("\n"); end !== -1; ) {
			starts.push(position + end + 1);
			if (starts.length > records + 1) starts.shift();
			end = bytes.indexOf("\n", end + 1);
		}
		position += bytes.length;
	}
	return starts[0]!;
}
