// pino: JSON lines cheap enough for a hot path; pino-pretty only on a terminal.
import pino, { type Logger } from "pino";

export type { Logger } from "pino";

/**
 * The log of one role on standard output: one JSON line per fact, or readable text on a terminal.
 * `LOG_LEVEL` (trace, debug, info, warn, error) sets what is shown. Default info.
 * Fields with the names of secrets below are never logged.
 */
export function createLog(role: string): Logger {
	return pino({
		name: role,
		level: process.env.LOG_LEVEL ?? "info",
		base: { role },
		timestamp: pino.stdTimeFunctions.isoTime,
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
		...(process.stdout.isTTY
			? { transport: { target: "pino-pretty", options: { ignore: "role" } } }
			: {}),
	});
}
