import { pipeline } from "node:stream/promises";
import { followRunLog, readRunLog } from "../../api/runs/run-log.ts";
import { type Run, runKind } from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import { hasReason } from "../../kube/client/errors.ts";
import { awaitObject } from "../../kube/watch/object-wait.ts";
import type { Cluster } from "../command/cluster.ts";
import { CommandError } from "../command/errors.ts";

/**
 * Prints the last lines of a Run's log: from its Pod; else from the REST API, which has the whole log of an ended Run; else
 * the lines that the Run has. Throws {@link CommandError} if there is none.
 */
export async function writeRunLog(
	cluster: Cluster,
	run: Run,
	{ follow, lines }: { follow: boolean; lines: number },
): Promise<void> {
	const { client, namespace } = cluster;
	const { name } = run.metadata;
	const never = new AbortController().signal;
	if (follow && !hasEnded(run)) {
		const started = await awaitObject(
			client,
			runKind,
			run,
			(seen) => hasEnded(seen) || seen.status?.phase === "Running",
			never,
		);
		run = started ?? run;
		const log = await unlessForbidden(
			followRunLog(client, namespace, name, lines, never),
		);
		if (log) return pipeline(log, process.stdout, { end: false });
	}
	const log =
		(await unlessForbidden(readRunLog(client, namespace, name, lines))) ??
		(await logOfApi(name, namespace, lines)) ??
		run.status?.log
			?.split(/(?<=\n)/)
			.slice(-lines)
			.join("");
	if (log === undefined)
		throw new CommandError(
			`the run "${name}" has no log that you may read. Its Pod has not started yet, or you have no permission for Pods (role tidemill-log-reader).`,
		);
	process.stdout.write(log);
}

async function unlessForbidden<T>(reading: Promise<T>): Promise<T | undefined> {
	try {
		return await reading;
	} catch (error) {
		if (!hasReason(error, "Forbidden")) throw error;
		return undefined;
	}
}

/** Undefined unless TIDEMILL_API_URL and TIDEMILL_API_TOKEN lead to an API that has the log. */
async function logOfApi(
	run: string,
	namespace: string,
	lines: number,
): Promise<string | undefined> {
	const { TIDEMILL_API_URL: url, TIDEMILL_API_TOKEN: token } = process.env;
	if (!url || !token) return undefined;
	const answer = await fetch(
		`${url.replace(/\/+$/, "")}/runs/${run}/logs?tail=${lines}`,
		{
			headers: {
				authorization: `Bearer ${token}`,
				"tidemill-account": namespace,
			},
			redirect: "error",
			signal: AbortSignal.timeout(30_000),
		},
	).catch(() => undefined);
	return answer?.ok ? answer.text() : undefined;
}
