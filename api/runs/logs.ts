import type { IncomingMessage } from "node:http";
import type { NatsConnection } from "@nats-io/transport-node";
import {
	type Operation,
	operationKind,
	type Run,
} from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import type {
	LogAnswer,
	LogRequest,
} from "../../packages/contracts/manifest.ts";
import { logSubject } from "../../packages/contracts/nats.ts";
import { hasReason } from "../../packages/kube/client/client.ts";
import { askAnyArchive } from "../events/archive-question.ts";
import type { ApiRequest, ArchiveClient, Handler } from "../http/endpoint.ts";
import { invalidParameter, RequestError } from "../http/errors.ts";
import { flagOf } from "../http/query.ts";
import { runView } from "../resources/views.ts";
import { followJobLog, lastLines, progressIn, readJobLog } from "./run-log.ts";
import { requireRun } from "./runs.ts";

export const maxLogLines = 10_000;
export const defaultLogLines = 1_000;
/** After this silence TCP looks whether the reader of a followed log is still there. */
const keepAliveMs = 30_000;

/** `GET /v1/runs/{name}/logs`. */
export const getRunLogs = logsOf("run", label.run, requireRun);

/** `GET /v1/operations/{name}/logs`. */
export const getOperationLogs = logsOf(
	"operation",
	label.operation,
	requireOperation,
);

/**
 * The last `?tail=` lines of the latest Pod's log. With `?follow=true`, also new lines until it ends. Without a Pod, or without
 * a permission for Pods, the log that was kept, once the Run or Operation has ended.
 */
function logsOf(
	noun: string,
	podLabel: string,
	require: (request: ApiRequest, name: string) => Promise<Run | Operation>,
): Handler {
	return async (request, reply) => {
		const { params, query } = request;
		const { client, account } = request;
		const name = params.name!;
		const lines = lineCountOf(query.tail);
		const follows = flagOf("follow", query.follow);
		const work = await require(request, name);
		const log = await orEnd<string | IncomingMessage>(
			work,
			() =>
				follows
					? followJobLog(
							client,
							account,
							name,
							lines,
							request.whenGone(),
							podLabel,
						)
					: readJobLog(client, account, name, lines, podLabel),
			async () => lastLines(await keptLog(request, work), lines),
		);
		if (log === undefined)
			throw new RequestError(
				"NotFound",
				`The ${noun} "${name}" has no log. Its Pod has not started, or it ended without writing one.`,
			);
		// Load can be silent for as long as a job of the warehouse takes.
		if (follows)
			reply.raw.socket?.setKeepAlive(true, keepAliveMs).setTimeout(0);
		reply.type("text/plain; charset=utf-8");
		return log;
	};
}

/** What the Pod's log has, or else what was kept of it. Only the Pod's log needs a permission for Pods. */
async function orEnd<T>(
	{ status }: Run | Operation,
	read: () => Promise<T | undefined>,
	readKept: () => Promise<string | undefined>,
): Promise<T | string | undefined> {
	const hasEnded = status?.completionTime !== undefined;
	try {
		return (await read()) ?? (hasEnded ? await readKept() : undefined);
	} catch (error) {
		// The operator removes a Pod whose Run has ended, also between a list that has it and this.
		if (hasReason(error, "NotFound")) return hasEnded ? readKept() : undefined;
		if (!hasEnded || !hasReason(error, "Forbidden")) throw error;
		return readKept();
	}
}

async function requireOperation(
	{ client, account }: ApiRequest,
	name: string,
): Promise<Operation> {
	const operation = await client.get<Operation>(operationKind, name, account);
	if (operation) return operation;
	throw new RequestError(
		"NotFound",
		`There is no operation "${name}" in account "${account}".`,
	);
}

function lineCountOf(tail = String(defaultLogLines)): number {
	const number = /^\d{1,5}$/.test(tail) ? Number(tail) : 0;
	if (number >= 1 && number <= maxLogLines) return number;
	throw invalidParameter("tail", `must be between 1 and ${maxLogLines}`, tail);
}

const timeoutMs = 5_000;

/** Asks archive, which has the bucket. The function that is returned throws if nobody answers. */
export function askArchiveForLog(
	connection: () => NatsConnection,
): ArchiveClient["askLog"] {
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
	{ account, server }: Pick<ApiRequest, "account" | "server">,
	{ metadata, status }: Run | Operation,
): Promise<string | undefined> {
	const lines = status?.log;
	if (!lines) return lines;
	const kept = await server.archive
		.askLog({ run: metadata.uid!, account })
		.catch((error: Error) => {
			server.apiLog.warn({ err: error }, "the log in the bucket can't be read");
			return undefined;
		});
	const lastLine = lines.trimEnd().split("\n").at(-1)!;
	return kept?.includes(lastLine) ? kept : lines;
}

/** `GET /v1/runs/{name}/progress`: days and rows loaded and in total, as far as known. */
export const getRunProgress: Handler = async (request) => {
	const { params } = request;
	const name = params.name!;
	const run: Run = await requireRun(request, name);
	const { status, rows } = runView(run);
	if (status === "Succeeded")
		return { status, rowsDone: rows, rowsTotal: rows };
	const log = await orEnd(
		run,
		() => readJobLog(request.client, request.account, name, defaultLogLines),
		() => keptLog(request, run),
	);
	return { status, ...(log !== undefined && progressIn(log)) };
};
