import { type Run, runKind } from "../../crds/generated/types.ts";
import { RequestError } from "../errors.ts";
import type { Caller, Handler } from "../handler.ts";
import { runView } from "../resources/views.ts";
import { followRunLog, progressIn, readRunLog } from "./run-log.ts";
import { noRun } from "./runs.ts";

export const maxLogLines = 10_000;
export const defaultLogLines = 1_000;

/**
 * `GET /v1/runs/{name}/logs`: the last `?tail=` lines of what its Pod has written, as they are; with `?follow=true` also
 * what it writes from then on, until it ends.
 */
export const getRunLogs: Handler = async (caller, { params, query }, reply) => {
	const { client, account } = caller;
	const name = params.name!;
	const lines = lineCountOf(query.tail);
	const follows = flagOf("follow", query.follow);
	await requireRun(caller, name);
	const log = follows
		? await followRunLog(client, account, name, lines, caller.gone)
		: await readRunLog(client, account, name, lines);
	if (log === undefined)
		throw new RequestError(
			"NotFound",
			`The run "${name}" has no log: its Pod has not started yet, or the run has ended and its Pod was removed.`,
		);
	reply.type("text/plain; charset=utf-8");
	return log;
};

/** `GET /v1/runs/{name}/progress`: how many days and rows are loaded, of how many, as far as that is known. */
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

async function requireRun(
	{ client, account }: Caller,
	name: string,
): Promise<Run> {
	const run = await client.get<Run>(runKind, name, account);
	if (!run) throw noRun(name, account);
	return run;
}

function lineCountOf(tail = String(defaultLogLines)): number {
	const number = /^\d{1,5}$/.test(tail) ? Number(tail) : 0;
	if (number >= 1 && number <= maxLogLines) return number;
	throw new RequestError("InvalidRequest", "tail is not a number of lines.", {
		details: [
			{
				path: "tail",
				message: `must be a whole number from 1 to ${maxLogLines}`,
			},
		],
	});
}

function flagOf(name: string, value = "false"): boolean {
	if (value === "true" || value === "false") return value === "true";
	throw new RequestError("InvalidRequest", `${name} is not true or false.`, {
		details: [{ path: name, message: "must be true or false" }],
	});
}
