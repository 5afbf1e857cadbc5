import type { NatsConnection } from "@nats-io/transport-node";
import type { Operation, Run } from "../../crds/generated/types.ts";
import type {
	LogAnswer,
	LogRequest,
} from "../../packages/contracts/manifest.ts";
import { logSubject } from "../../packages/contracts/nats.ts";
import { askAnyArchive } from "../archive/any-archive.ts";
import type { Caller } from "../http/endpoint.ts";

const timeoutMs = 5_000;

/** Asks archive, which has the bucket. The function that is returned throws if nobody answers. */
export function askArchiveForLog(
	connection: () => NatsConnection,
): Caller["askLog"] {
	const ask = askAnyArchive<LogRequest, LogAnswer>(
		connection,
		logSubject,
		timeoutMs,
	);
	return async (question) => {
		const said = await ask(question);
		if (said.ok) return said.log;
		throw new Error(said.error.message);
	};
}

/**
 * What was kept of the log of a Run or an Operation: the end that the bucket has, or else the few lines in the status. The
 * bucket has the log of an earlier attempt if it lacks the status's last line, which has a timestamp; and if the status has no
 * lines, the last attempt was lost with its log.
 */
export async function keptLog(
	{ account, askLog, log }: Pick<Caller, "account" | "askLog" | "log">,
	{ metadata, status }: Run | Operation,
): Promise<string | undefined> {
	const lines = status?.log;
	if (!lines) return lines;
	const kept = await askLog({ run: metadata.uid!, account }).catch(
		(error: Error) => {
			log.warn({ err: error }, "the log in the bucket can't be read");
			return undefined;
		},
	);
	const lastLine = lines.trimEnd().split("\n").at(-1)!;
	return kept?.includes(lastLine) ? kept : lines;
}
