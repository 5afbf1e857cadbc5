import { setTimeout as sleep } from "node:timers/promises";
import { Option } from "@commander-js/extra-typings";
import { jobLogPath, lastLines, readJobLog } from "../../api/runs/run-log.ts";
import {
	type Operation,
	operationKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { unless } from "../../packages/kube/client/errors.ts";
import {
	type Cluster,
	chooseCluster,
	requireObject,
} from "../command/cluster.ts";
import { CommandError, UsageError } from "../command/errors.ts";
import { type CommandGroup, examples } from "../command/group.ts";
import { print } from "../command/output.ts";
import { restApi } from "../command/rest.ts";

/** What a Job does, with the label that its Pods have. */
type Work = Run | Operation;
const loggedKinds = {
	Run: { ...runKind, podLabel: label.run },
	Operation: { ...operationKind, podLabel: label.operation },
};
export type LoggedKind = keyof typeof loggedKinds;

interface Reading {
	follow: boolean;
	lines: number;
	/** Between two looks for the next Pod. */
	pauseMs?: number;
}

/**
 * Prints the last lines of the log of a Run or an Operation: from its Pods; else from the REST API, which has the last 64 KiB
 * once it has ended; else the lines in its status. Throws {@link CommandError} if there is none.
 */
export async function writeJobLog(
	cluster: Cluster,
	kind: LoggedKind,
	work: Work,
	{ follow, lines, pauseMs = 1_000 }: Reading,
): Promise<void> {
	const { client, namespace } = cluster;
	const { name } = work.metadata;
	if (follow) {
		const { ended, wrote } = await followPods(cluster, kind, work, {
			lines,
			pauseMs,
		});
		if (wrote) return;
		work = ended;
	}
	const { podLabel } = loggedKinds[kind];
	const log =
		(await ifThere(readJobLog(client, namespace, name, lines, podLabel))) ??
		(await logOfApi(kind, work, cluster, lines)) ??
		lastLines(work.status?.log, lines);
	if (log === undefined)
		throw new CommandError(
			`the ${kind.toLowerCase()} "${name}" has no log that you may read. Its Pod has not started yet, or you have no permission for Pods (role tidemill-log-reader).`,
		);
	print(log);
}

/** Prints the log of each Pod, one after another, until the work has ended. */
async function followPods(
	{ client, namespace }: Cluster,
	kind: LoggedKind,
	work: Work,
	{ lines, pauseMs }: { lines: number; pauseMs: number },
): Promise<{ ended: Work; wrote: boolean }> {
	const { name, uid } = work.metadata;
	const { podLabel } = loggedKinds[kind];
	const never = new AbortController().signal;
	const query = { tailLines: lines, follow: true };
	let shown: string | undefined;
	while (work.status?.completionTime === undefined) {
		const path = await ifThere(jobLogPath(client, namespace, name, podLabel));
		const log =
			path === undefined || path === shown
				? undefined
				: await ifThere(client.rawStream(path, query, never));
		if (log) {
			for await (const text of log.setEncoding("utf8")) print(text);
			shown = path;
		} else await sleep(pauseMs);
		const seen = await client.get<Work>(loggedKinds[kind], name, namespace);
		if (!seen || seen.metadata.uid !== uid) break;
		work = seen;
	}
	return { ended: work, wrote: shown !== undefined };
}

/** Undefined if there is none, or the person may not read it. */
function ifThere<T>(reading: Promise<T>): Promise<T | undefined> {
	return unless(reading, "Forbidden", "NotFound");
}

/** Undefined unless TIDEMILL_API_URL leads to an API that has this object, and its log. */
async function logOfApi(
	kind: LoggedKind,
	{ metadata: { name, uid } }: Work,
	{ namespace, options }: Cluster,
	lines: number,
): Promise<string | undefined> {
	try {
		const api = restApi({ ...options, namespace });
		const path = `/${loggedKinds[kind].plural}/${name}`;
		// It may belong to another cluster, which can have one of this name.
		const { id } = (await (await api.get(path)).json()) as { id?: string };
		if (id !== uid) return undefined;
		const log = await api.get(`${path}/logs`, { tail: String(lines) });
		return await log.text();
	} catch {
		return undefined;
	}
}

/** `tidemill runs logs` and `tidemill operations logs`. */
export function defineLogs(
	group: CommandGroup,
	kind: LoggedKind,
	example: string,
): void {
	const noun = kind.toLowerCase();
	const one = `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
	group
		.command("logs")
		.description(
			`Print the log of ${one}. Once it has ended, it is what is kept: the last 64 KiB through the REST API, if TIDEMILL_API_URL is set, and otherwise the last lines. describe shows what each failed attempt said.`,
		)
		.argument(`<${noun}>`)
		.addOption(followOption)
		.addOption(tailOption)
		.addHelpText(...examples(`tidemill ${group.name()} logs ${example} -f`))
		.action(async (name: string, { follow = false, tail }, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const work = await requireObject<Work>(cluster, loggedKinds[kind], name);
			await writeJobLog(cluster, kind, work, { follow, lines: tail });
		});
}

export const followOption = new Option(
	"-f, --follow",
	"print new lines until it ends",
);
export const tailOption = new Option(
	"--tail <lines>",
	"only the last lines, at most 10000",
)
	.argParser((tail: string) => {
		const lines = /^\d{1,5}$/.test(tail) ? Number(tail) : 0;
		if (lines >= 1 && lines <= 10_000) return lines;
		throw new UsageError(
			`--tail is "${tail}", but must be between 1 and 10000`,
		);
	})
	.default(1_000);
