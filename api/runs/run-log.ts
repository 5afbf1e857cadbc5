import type { IncomingMessage } from "node:http";
import { label } from "../../crds/labels.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import { resourcePath } from "../../kube/resource.ts";

/** How far a run is: the fields of the last line of its log that has them (ingest/load writes one a second). */
export interface Progress {
	daysDone: number;
	daysTotal: number;
	rowsDone: number;
	rowsTotal: number;
}

/** The kubelet reads no more of a log than this at once. */
const maxLogBytes = 4 * 1024 * 1024;

/**
 * The last lines of the log of a run's latest Pod; undefined when it has none: none yet, or none any more, since a Run's
 * Job is removed when the Run has ended. Throws as the client does, `Forbidden` for who may not read Pods' logs.
 */
export async function readRunLog(
	client: KubeClient,
	account: string,
	run: string,
	tailLines: number,
): Promise<string | undefined> {
	const path = await logPath(client, account, run);
	const query = { tailLines, limitBytes: maxLogBytes };
	return path === undefined
		? undefined
		: client.rawText("GET", path, { query });
}

/** As {@link readRunLog}, and then what is written from now on, until the Pod has ended or `signal` fires. */
export async function followRunLog(
	client: KubeClient,
	account: string,
	run: string,
	tailLines: number,
	signal: AbortSignal,
): Promise<IncomingMessage | undefined> {
	const path = await logPath(client, account, run);
	return path === undefined
		? undefined
		: client.rawStream(path, { tailLines, follow: true }, signal);
}

/** undefined when there is no Pod that has begun. */
async function logPath(
	client: KubeClient,
	account: string,
	run: string,
): Promise<string | undefined> {
	const { items } = await client.list(kinds.pod, {
		namespace: account,
		labelSelector: `${label.run}=${run}`,
	});
	const latest = items
		.filter(({ status }) => status?.phase !== "Pending")
		.sort((a, b) =>
			a.metadata.creationTimestamp!.localeCompare(
				b.metadata.creationTimestamp!,
			),
		)
		.at(-1);
	return (
		latest && resourcePath(kinds.pod, account, latest.metadata.name, "log")
	);
}

/** undefined as long as no day is loaded. */
export function progressIn(log: string): Progress | undefined {
	for (const line of log.split("\n").reverse()) {
		const progress = progressOf(line);
		if (progress) return progress;
	}
	return undefined;
}

function progressOf(line: string): Progress | undefined {
	if (!line.includes('"daysDone"')) return undefined;
	try {
		const { daysDone, daysTotal, rowsDone, rowsTotal } = JSON.parse(line);
		const progress = { daysDone, daysTotal, rowsDone, rowsTotal };
		const isWhole = Object.values(progress).every(Number.isInteger);
		return isWhole ? progress : undefined;
	} catch {
		// Cut off by the end of what was read.
		return undefined;
	}
}
