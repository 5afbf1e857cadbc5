import { type Progress, progressIn, readJobLog } from "../../api/runs/logs.ts";
import { type Run, runKind } from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import { ApiError } from "../../packages/kube/client/client.ts";
import { TransportError } from "../../packages/kube/client/errors.ts";
import { awaitObject } from "../../packages/kube/watch/object-wait.ts";
import { pause } from "../../packages/service/pause.ts";
import type { Cluster } from "../command/cluster.ts";
import { CommandError } from "../command/errors.ts";
import { progressBar } from "../follow/progress-bar.ts";
import { ProgressLines } from "../follow/progress-lines.ts";

const pollMs = 1_000;
const logLines = 200;

/**
 * Shows the progress of a run until it ends, and returns the run. Broken
 * connections are resumed for five minutes.
 */
export async function followRun(cluster: Cluster, run: Run): Promise<Run> {
	const { client, namespace } = cluster;
	const ended = new AbortController();
	const shown = { phase: "Pending" };
	const lines = new ProgressLines();
	const showing = showProgress(cluster, run, { shown, lines }, ended.signal);
	const stopped = () => {
		ended.abort();
		return showing;
	};
	try {
		const last = await awaitObject(
			client,
			runKind,
			run,
			(seen) => {
				shown.phase = seen.status?.phase ?? "Pending";
				return hasEnded(seen);
			},
			// Never fires: Ctrl-C ends the command, and the run continues.
			new AbortController().signal,
		);
		if (last) {
			await stopped();
			lines.note({ run: last.metadata.name, ...outcomeOf(last) });
			return last;
		}
		throw new CommandError(
			`${run.metadata.name} in namespace ${namespace} was deleted before it ended.`,
		);
	} catch (error) {
		if (!(error instanceof TransportError)) throw error;
		throw new CommandError(
			`the cluster is unreachable: ${error.message}. The run continues. See how it ended with: kubectl get run ${run.metadata.name} -n ${namespace}`,
		);
	} finally {
		await stopped();
	}
}

function outcomeOf({ status = {} }: Run): object {
	const { phase, rows, dates, error } = status;
	return { phase, rows, dates, error };
}

/** Says how many rows a Run loaded. Throws {@link CommandError} if it didn't succeed. */
export function requireSuccess({ metadata, status = {} }: Run): void {
	const { phase, rows = 0, dates, error } = status;
	const loaded = dates ? ` of ${dates.start} to ${dates.end}` : "";
	if (phase === "Succeeded")
		process.stderr.write(
			`Loaded ${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}${loaded}.\n`,
		);
	else
		throw new CommandError(
			error
				? `${metadata.name} failed: ${error.message} (${error.code})`
				: `${metadata.name} was cancelled.`,
		);
}

async function showProgress(
	{ client, namespace }: Cluster,
	run: Run,
	{ shown, lines }: { shown: { phase: string }; lines: ProgressLines },
	ended: AbortSignal,
): Promise<void> {
	const { name } = run.metadata;
	while (!ended.aborted) {
		const progress = await progressOf(() =>
			readJobLog(client, namespace, name, logLines),
		);
		const { phase } = shown;
		if (!ended.aborted)
			lines.update({ run: name, phase, ...progress }, (columns) =>
				progressBar(phase, progress, columns),
			);
		await pause(pollMs, ended);
	}
	lines.clear();
}

/** Returns undefined if the log is unavailable: without permission, without a Pod, or after a failed request. */
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
