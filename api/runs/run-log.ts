import type { IncomingMessage } from "node:http";
import { label } from "../../crds/labels.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { kinds, type Pod } from "../../packages/kube/kinds.ts";
import { resourcePath } from "../../packages/kube/resource.ts";
import { listAll } from "../../packages/kube/watch/reflector.ts";

/** The progress of a Run, from the last log line that has these fields (load writes one a second). */
export interface RunProgress {
	daysDone: number;
	daysTotal: number;
	rowsDone: number;
	rowsTotal: number;
}

/** Limits what the kubelet returns of a log at once. */
const maxLogBytes = 4 * 1024 * 1024;

/**
 * Reads the last lines of the log of the latest Pod of a Run or an Operation. Returns undefined if there is no such Pod:
 * before it starts, or after the end, which removes the Job. Throws as the client does, such as `Forbidden`.
 * @param podLabel has the name on the Pods; an Operation's have another label than a Run's.
 */
export async function readJobLog(
	client: KubeClient,
	account: string,
	run: string,
	tailLines: number,
	podLabel: string = label.run,
): Promise<string | undefined> {
	const path = await jobLogPath(client, account, run, podLabel);
	const query = { tailLines, limitBytes: maxLogBytes };
	return path === undefined
		? undefined
		: client.rawText("GET", path, { query });
}

/** As {@link readJobLog}, followed by new lines until the Pod ends or `signal` fires. */
export async function followJobLog(
	client: KubeClient,
	account: string,
	run: string,
	tailLines: number,
	signal: AbortSignal,
	podLabel: string = label.run,
): Promise<IncomingMessage | undefined> {
	const path = await jobLogPath(client, account, run, podLabel);
	return path === undefined
		? undefined
		: client.rawStream(path, { tailLines, follow: true }, signal);
}

/** The path of the latest Pod's log. Returns undefined if no Pod has started. */
export async function jobLogPath(
	client: KubeClient,
	account: string,
	run: string,
	podLabel: string = label.run,
): Promise<string | undefined> {
	const scope = { namespace: account, labelSelector: `${podLabel}=${run}` };
	const { items } = await listAll(client, kinds.pod, scope, startedWhen);
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

/** Who may create Pods can make one of this label as large as etcd takes. */
function startedWhen({ metadata, status }: Pod): Pod {
	const { name, creationTimestamp } = metadata;
	return {
		metadata: { name, creationTimestamp },
		status: { phase: status?.phase },
	} as Pod;
}

export function lastLines(
	log: string | undefined,
	lines: number,
): string | undefined {
	return log
		?.split(/(?<=\n)/)
		.slice(-lines)
		.join("");
}

/** Returns undefined if no line reports progress. */
export function progressIn(log: string): RunProgress | undefined {
	for (const line of log.split("\n").reverse()) {
		const progress = progressOf(line);
		if (progress) return progress;
	}
	return undefined;
}

function progressOf(line: string): RunProgress | undefined {
	if (!line.includes('"daysDone"')) return undefined;
	try {
		const { daysDone, daysTotal, rowsDone, rowsTotal } = JSON.parse(line);
		const progress = { daysDone, daysTotal, rowsDone, rowsTotal };
		const isWhole = Object.values(progress).every(Number.isInteger);
		return isWhole ? progress : undefined;
	} catch {
		// The size limit cut the line off.
		return undefined;
	}
}
