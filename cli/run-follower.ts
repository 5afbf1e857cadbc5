import { setTimeout as sleep } from "node:timers/promises";
import { type Progress, progressIn, readRunLog } from "../api/runs/run-log.ts";
import { type Run, runKind } from "../crds/generated/types.ts";
import { hasEnded } from "../crds/run.ts";
import { ApiError } from "../kube/client/client.ts";
import { TransportError } from "../kube/client/errors.ts";
import { awaitObject } from "../kube/watch/object-wait.ts";
import type { Cluster } from "./cluster.ts";
import { CommandError } from "./command.ts";
import { progressBar } from "./progress-bar.ts";

const pollMs = 1_000;
const logLines = 200;

/** Shows how far a run is until it has ended, and returns it then. On a terminal the line is written over and over. */
export async function followRun(cluster: Cluster, run: Run): Promise<Run> {
	const { client, namespace } = cluster;
	const ended = new AbortController();
	const shown = { phase: "Pending" };
	const showing = showProgress(cluster, run, shown, ended.signal);
	try {
		const last = await awaitObject(
			client,
			runKind,
			run,
			(seen) => {
				shown.phase = seen.status?.phase ?? "Pending";
				return hasEnded(seen);
			},
			// Never fires: a person ends the waiting with Ctrl-C, and the run goes on.
			new AbortController().signal,
		);
		if (last) return last;
		throw new CommandError(
			`${run.metadata.name} was deleted from ${namespace} while it was waited for.`,
		);
	} finally {
		ended.abort();
		await showing;
	}
}

async function showProgress(
	{ client, namespace }: Cluster,
	run: Run,
	shown: { phase: string },
	ended: AbortSignal,
): Promise<void> {
	const { isTTY, columns = 80 } = process.stderr;
	let said = "";
	while (!ended.aborted) {
		const progress = await progressOf(() =>
			readRunLog(client, namespace, run.metadata.name, logLines),
		);
		const line = progressBar(shown.phase, progress, columns - 1);
		if (isTTY) process.stderr.write(`\r\x1b[K${line}`);
		else if (line !== said) process.stderr.write(`${line}\n`);
		said = line;
		await sleep(pollMs, undefined, { signal: ended }).catch(() => undefined);
	}
	if (isTTY) process.stderr.write("\r\x1b[K");
}

/** Who may not read logs sees the phase alone, and so it is while the Pod comes and goes or a request for it breaks off. */
async function progressOf(
	readLog: () => Promise<string | undefined>,
): Promise<Progress | undefined> {
	try {
		return progressIn((await readLog()) ?? "");
	} catch (error) {
		if (error instanceof ApiError || error instanceof TransportError)
			return undefined;
		throw error;
	}
}
