import { createHash } from "node:crypto";
import type { Logger } from "./log.ts";

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
