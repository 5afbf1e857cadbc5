// pino: one JSON line per fact at a cost that a hot path can bear; pino-pretty only where a person watches.
import pino, { type Logger } from "pino";

export type { Logger } from "pino";

/**
 * The log of one role. One line per fact, on standard output: JSON for machines, readable on a terminal.
 * `LOG_LEVEL` (trace, debug, info, warn, error) sets what is shown; the default is info.
 * Values that must never be logged go by these names, and are removed wherever they stand.
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
