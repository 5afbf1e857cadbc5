import type { IncomingMessage } from "node:http";
import type { Run } from "../../crds/generated/types.ts";
import { hasReason } from "../../kube/client/client.ts";
import { invalidParameter, RequestError } from "../http/errors.ts";
import type { Handler } from "../http/operation.ts";
import { flagOf } from "../http/query.ts";
import { runView } from "../resources/views.ts";
import { followRunLog, progressIn, readRunLog } from "./run-log.ts";
import { requireRun } from "./runs.ts";

export const maxLogLines = 10_000;
export const defaultLogLines = 1_000;
/** After this silence TCP looks whether the reader of a followed log is still there. */
const keepAliveMs = 30_000;

/**
 * `GET /v1/runs/{name}/logs`: the last `?tail=` lines of its Pod's log. With `?follow=true`, also new lines until it ends.
 * Without its Pod, or without a permission for Pods, the last lines that the Run itself has, once it has ended.
 */
export const getRunLogs: Handler = async (caller, { params, query }, reply) => {
	const { client, account } = caller;
	const name = params.name!;
	const lines = lineCountOf(query.tail);
	const follows = flagOf("follow", query.follow);
	const run = await requireRun(caller, name);
	const log = await orEnd<string | IncomingMessage>(run, lines, () =>
		follows
			? followRunLog(client, account, name, lines, caller.signal)
			: readRunLog(client, account, name, lines),
	);
	if (log === undefined)
		throw new RequestError(
			"NotFound",
			`The run "${name}" has no log. Its Pod has not started yet, or the run has ended and its Pod was removed.`,
		);
	// Load can be silent for as long as a job of the warehouse takes.
	if (follows) reply.raw.socket?.setKeepAlive(true, keepAliveMs).setTimeout(0);
	reply.type("text/plain; charset=utf-8");
	return log;
};

/** `GET /v1/runs/{name}/progress`: days and rows loaded and in total, as far as known. */
export const getRunProgress: Handler = async (caller, { params }) => {
	const name = params.name!;
	const run = await requireRun(caller, name);
	const { status, rows } = runView(run);
	if (status === "Succeeded")
		return { status, rowsDone: rows, rowsTotal: rows };
	const log = await orEnd(run, defaultLogLines, () =>
		readRunLog(caller.client, caller.account, name, defaultLogLines),
	);
	return { status, ...(log !== undefined && progressIn(log)) };
};

/** What the Pod's log has, or else the Run. Only the Pod's log needs a permission for Pods. */
async function orEnd<T>(
	{ status }: Run,
	lines: number,
	read: () => Promise<T | undefined>,
): Promise<T | string | undefined> {
	const end = status?.log?.split(/(?<=\n)/).slice(-lines);
	try {
		return (await read()) ?? end?.join("");
	} catch (error) {
		if (!end || !hasReason(error, "Forbidden")) throw error;
		return end.join("");
	}
}

function lineCountOf(tail = String(defaultLogLines)): number {
	const number = /^\d{1,5}$/.test(tail) ? Number(tail) : 0;
	if (number >= 1 && number <= maxLogLines) return number;
	throw invalidParameter("tail", `must be between 1 and ${maxLogLines}`, tail);
}
