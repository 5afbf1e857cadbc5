// pino: JSON lines cheap enough for a hot path; pino-pretty only on a terminal.

import { createHash } from "node:crypto";
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

/**
 * People of an account read in a status, an Event or an answer that something of the platform failed, but nothing of how the
 * platform is built: no bucket, prefix, endpoint or address. Those stand in the log of the process that met the failure, under
 * an id that the message quotes.
 */

/** The same reason has the same id: a status that is told again isn't written again, whichever replica tells it. */
export function errorIdOf(reason: string): string {
	return createHash("sha256").update(reason).digest("hex").slice(0, 8);
}

/** What a message calls an object of the bucket: its key has the names of the platform's streams. */
export function objectId(key: string): string {
	return errorIdOf(key);
}

/** What a message says in place of the reason. */
export function seeLog(errorId: string, role: string): string {
	return `error ${errorId} in the log of ${role}`;
}

/**
 * The id of failures on the way to where a presigned link leads, for who follows it in an account's Pod, whose log the account
 * reads: who makes links logs where they lead, under the same id.
 */
export function linkErrorId(link: string): string {
	return errorIdOf(new URL(link).origin);
}

/**
 * Logs why something failed, and returns the words that a message has in its place.
 * @param role whose log it is.
 * @param what failed, for the log.
 */
export function withhold(
	log: Logger,
	error: unknown,
	role: string,
	what: string,
): string {
	const errorId = errorIdOf(reasonOf(error));
	log.warn({ errorId, err: error }, what);
	return seeLog(errorId, role);
}

function reasonOf(error: unknown): string {
	return error instanceof Error
		? `${error.name}: ${error.message}`
		: String(error);
}
