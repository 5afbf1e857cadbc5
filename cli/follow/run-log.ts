import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { jobLogPath, lastLines, readJobLog } from "../../api/runs/run-log.ts";
import { type Run, runKind } from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import { hasReason } from "../../kube/client/errors.ts";
import type { Cluster } from "../command/cluster.ts";
import { CommandError } from "../command/errors.ts";

interface Reading {
	follow: boolean;
	lines: number;
	/** Between two looks for the next Pod. */
	pauseMs?: number;
}

/**
 * Prints the last lines of a Run's log: from its Pods; else from the REST API, which has the last 64 KiB of an ended Run;
 * else the lines that the Run has. Throws {@link CommandError} if there is none.
 */
export async function writeRunLog(
	cluster: Cluster,
	run: Run,
	{ follow, lines, pauseMs = 1_000 }: Reading,
): Promise<void> {
	const { client, namespace } = cluster;
	const { name } = run.metadata;
	if (follow) {
		const { ended, wrote } = await followPods(cluster, run, lines, pauseMs);
		if (wrote) return;
		run = ended;
	}
	const log =
		(await ifThere(readJobLog(client, namespace, name, lines))) ??
		(await logOfApi(run, namespace, lines)) ??
		lastLines(run.status?.log, lines);
	if (log === undefined)
		throw new CommandError(
			`the run "${name}" has no log that you may read. Its Pod has not started yet, or you have no permission for Pods (role tidemill-log-reader).`,
		);
	process.stdout.write(log);
}

/** Prints the log of each Pod, one after another, until the Run has ended. */
async function followPods(
	{ client, namespace }: Cluster,
	run: Run,
	lines: number,
	pauseMs: number,
): Promise<{ ended: Run; wrote: boolean }> {
	const { name, uid } = run.metadata;
	const never = new AbortController().signal;
	const query = { tailLines: lines, follow: true };
	let shown: string | undefined;
	while (!hasEnded(run)) {
		const path = await ifThere(jobLogPath(client, namespace, name));
		const log =
			path === undefined || path === shown
				? undefined
				: await ifThere(client.rawStream(path, query, never));
		if (log) {
			await pipeline(log, process.stdout, { end: false });
			shown = path;
		} else await sleep(pauseMs);
		const seen = await client.get<Run>(runKind, name, namespace);
		if (!seen || seen.metadata.uid !== uid) break;
		run = seen;
	}
	return { ended: run, wrote: shown !== undefined };
}

/** Undefined if there is none, or the person may not read it. */
async function ifThere<T>(reading: Promise<T>): Promise<T | undefined> {
	try {
		return await reading;
	} catch (error) {
		if (!hasReason(error, "Forbidden", "NotFound")) throw error;
		return undefined;
	}
}

/** Undefined unless TIDEMILL_API_URL and TIDEMILL_API_TOKEN lead to an API that has this Run, and its log. */
async function logOfApi(
	{ metadata: { name, uid } }: Run,
	namespace: string,
	lines: number,
): Promise<string | undefined> {
	const { TIDEMILL_API_URL: url, TIDEMILL_API_TOKEN: token } = process.env;
	if (!url || !token) return undefined;
	const get = async (path: string) => {
		const answer = await fetch(
			`${url.replace(/\/+$/, "")}/runs/${name}${path}`,
			{
				headers: {
					authorization: `Bearer ${token}`,
					"tidemill-account": namespace,
				},
				redirect: "error",
				signal: AbortSignal.timeout(30_000),
			},
		);
		return answer.ok ? answer.text() : undefined;
	};
	try {
		// It may belong to another cluster, which can have a Run of this name.
		const { id } = JSON.parse((await get("")) ?? "{}");
		return id === uid ? await get(`/logs?tail=${lines}`) : undefined;
	} catch {
		return undefined;
	}
}
