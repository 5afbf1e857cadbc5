import { open } from "node:fs/promises";
import { parseRecord } from "../container-log.ts";

/** Kubernetes' limit of a termination message. */
const maxMessageBytes = 4096;
/** FallbackToLogsOnError takes at most 2,048 bytes or 80 lines of the log (Kubernetes API, terminationMessagePolicy). */
const maxLogBytes = 2048;
const maxLogLines = 80;
/** Enough for the longest record of a log, and for the timestamps of 80 short ones. */
const maxTailBytes = 64 * 1024;

/**
 * The termination message of a container that ended: the content of its message file. When that is empty, the container
 * failed and the policy allows it, the end of its log. Undefined when both are empty.
 */
export async function terminationMessage(
	container: { terminationMessagePolicy?: string },
	files: { message: string; log: string },
	exitCode: number,
): Promise<string | undefined> {
	const message = await readEnd(files.message, maxMessageBytes, "start");
	if (message) return message;
	const fallsBack =
		container.terminationMessagePolicy === "FallbackToLogsOnError";
	if (!fallsBack || exitCode === 0) return undefined;
	const lines = (await readEnd(files.log, maxTailBytes, "end"))
		.split("\n")
		.slice(-maxLogLines - 1)
		.map((line) => parseRecord(Buffer.from(`${line}\n`))?.content.toString())
		.filter((content) => content !== undefined)
		.join("");
	return lines.slice(-maxLogBytes) || undefined;
}

/** The first or the last bytes of a file as text; empty when there is no such file. */
async function readEnd(
	path: string,
	maxBytes: number,
	end: "start" | "end",
): Promise<string> {
	const file = await open(path).catch(() => undefined);
	if (!file) return "";
	try {
		const { size } = await file.stat();
		const position = end === "start" ? 0 : Math.max(0, size - maxBytes);
		const { buffer, bytesRead } = await file.read(
			Buffer.alloc(maxBytes),
			0,
			maxBytes,
			position,
		);
		return buffer.toString("utf8", 0, bytesRead);
	} finally {
		await file.close();
	}
}
