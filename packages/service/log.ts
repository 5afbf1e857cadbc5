// pino: JSON lines cheap enough for a hot path; pino-pretty only on a terminal.
import pino, { type Logger, type LoggerOptions } from "pino";
import { linesForTerminal } from "../escapes/terminal.ts";

export type { Logger } from "pino";

/**
 * The log of one role on standard output: one JSON line per fact, or readable text on a terminal.
 * `LOG_LEVEL` (trace, debug, info, warn, error) sets what is shown. Default info.
 * Fields with the names of secrets below are never logged.
 * @param copy gets each JSON line as well.
 */
export function createLog(
	role: string,
	copy?: { write(line: string): void },
): Logger {
	const options: LoggerOptions = {
		name: role,
		level: process.env.LOG_LEVEL ?? "info",
		base: { role },
		timestamp: pino.stdTimeFunctions.isoTime,
		// Each is the same JSON: who reads a log on a terminal sees an escape in place of what strangers would have it do.
		hooks: { streamWrite: linesForTerminal },
		formatters: { level: (label) => ({ level: label }) },
		redact: {
			paths: [
				"token",
				"password",
				"authorization",
				"*.token",
				"*.password",
				"*.authorization",
				"url",
				"*.url",
			],
			remove: true,
		},
	};
	if (copy)
		return pino(
			options,
			pino.multistream([
				{ level: "trace", stream: pino.destination(1) },
				{ level: "trace", stream: copy },
			]),
		);
	// The image has no pretty printer, and sets NODE_ENV.
	const isPretty =
		process.stdout.isTTY && process.env.NODE_ENV !== "production";
	return pino({
		...options,
		...(isPretty
			? { transport: { target: "pino-pretty", options: { ignore: "role" } } }
			: {}),
	});
}
