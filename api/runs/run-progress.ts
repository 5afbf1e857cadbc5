import { invalidParameter, RequestError } from "../http/errors.ts";
import type { Handler } from "../http/operation.ts";
import { runView } from "../resources/views.ts";
import { followRunLog, progressIn, readRunLog } from "./run-log.ts";
import { requireRun } from "./runs.ts";

export const maxLogLines = 10_000;
export const defaultLogLines = 1_000;
/** After this silence TCP looks whether the reader of a followed log is still there. */
const keepAliveMs = 30_000;

/** `GET /v1/runs/{name}/logs`: the last `?tail=` lines of its Pod's log. With `?follow=true`, also new lines until it ends. */
export const getRunLogs: Handler = async (caller, { params, query }, reply) => {
	const { client, account } = caller;
	const name = params.name!;
	const lines = lineCountOf(query.tail);
	const follows = flagOf("follow", query.follow);
	await requireRun(caller, name);
	const log = follows
		? await followRunLog(client, account, name, lines, caller.signal)
		: await readRunLog(client, account, name, lines);
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
	const { status, rows } = runView(await requireRun(caller, name));
	if (status === "succeeded")
		return { status, rowsDone: rows, rowsTotal: rows };
	const log = await readRunLog(
		caller.client,
		caller.account,
		name,
		defaultLogLines,
	);
	return { status, ...(log !== undefined && progressIn(log)) };
};

function lineCountOf(tail = String(defaultLogLines)): number {
	const number = /^\d{1,5}$/.test(tail) ? Number(tail) : 0;
	if (number >= 1 && number <= maxLogLines) return number;
	throw invalidParameter("tail", `must be between 1 and ${maxLogLines}`);
}

function flagOf(name: string, value = "false"): boolean {
	if (value === "true" || value === "false") return value === "true";
	throw invalidParameter(name, "must be true or false");
}
