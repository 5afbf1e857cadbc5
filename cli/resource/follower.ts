import {
	progressIn,
	type RunProgress,
	readJobLog,
} from "../../api/runs/run-log.ts";
import {
	type Operation,
	type OperationSpec,
	operationKind,
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { hasEnded, operationName } from "../../crds/run.ts";
import { unfitColumns, unfitText } from "../../crds/unfit-values.ts";
import {
	lineForTerminal,
	linesForTerminal,
} from "../../packages/escapes/terminal.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import {
	KubeApiError,
	TransportError,
} from "../../packages/kube/client/errors.ts";
import {
	type Condition,
	findCondition,
} from "../../packages/kube/conditions.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { awaitObject } from "../../packages/kube/watch/object-wait.ts";
import { pause } from "../../packages/service/pause.ts";
import type { Cluster } from "../command/cluster.ts";
import { CommandError } from "../command/errors.ts";
import { untilInterrupted } from "../command/interrupt.ts";
import { jsonText, remark } from "../command/output.ts";

const pollMs = 1_000;
const logLines = 200;

/** Shows the progress of a run until it ends, and returns the run. */
export async function followRun(cluster: Cluster, run: Run): Promise<Run> {
	const ended = new AbortController();
	const stuck = new AbortController();
	const shown: ShownRun = { phase: "Pending" };
	const lines = new ProgressLines();
	const { name, namespace } = run.metadata;
	const showing = showProgress(
		cluster,
		run,
		{ shown, lines, stuck },
		ended.signal,
	);
	const stopped = () => {
		ended.abort();
		return showing;
	};
	try {
		const last = await untilEnded(
			cluster,
			runKind,
			run,
			({ spec, status }) => {
				const complete = findCondition(status?.conditions, "Complete");
				shown.phase = status?.phase ?? "Pending";
				shown.waitsFor =
					shown.phase === "Pending" ? complete?.message : undefined;
				shown.pipeline =
					complete?.reason === "PipelineNotReady"
						? spec.pipelineRef.name
						: undefined;
			},
			stuck.signal,
		);
		await stopped();
		if (stuck.signal.aborted)
			throw new CommandError(
				`${name} waits, and waiting alone doesn't help: ${shown.waitsFor} The run starts once that is fixed. Cancel it with: tidemill runs cancel ${name} -n ${namespace}`,
			);
		const { phase, rows, dates, unfitValues, error } = last.status ?? {};
		const facts = { phase, rows, dates, unfitValues, error };
		lines.note({ run: last.metadata.name, ...facts });
		return last;
	} finally {
		await stopped();
	}
}

/**
 * Waits until what a Job carries out has ended, and returns it. Broken connections are resumed for five minutes. Throws
 * {@link CommandError} if it is deleted before that.
 */
async function untilEnded<T extends Run | Operation>(
	{ client, namespace }: Cluster,
	kind: ResourceKind<T>,
	created: T,
	onSeen: (seen: T) => void,
	signal = new AbortController().signal,
): Promise<T> {
	const { name } = created.metadata;
	const noun = kind.kind.toLowerCase();
	try {
		const last = await untilInterrupted(
			`The ${noun} ${name} continues. ${againWith(kind, name, namespace)}`,
			awaitObject(
				client,
				kind,
				created,
				(seen) => {
					onSeen(seen);
					return hasEnded(seen);
				},
				signal,
			),
		);
		if (last) return last;
	} catch (error) {
		if (!(error instanceof TransportError)) throw error;
		throw new CommandError(
			`the cluster is unreachable: ${error.message}. The ${noun} continues. ${againWith(kind, name, namespace)}`,
		);
	}
	throw new CommandError(
		`${name} in namespace ${namespace} was deleted before it ended.`,
	);
}

/** How to wait for it again, in one sentence. */
function againWith(
	{ kind }: ResourceKind<Run | Operation>,
	name: string,
	namespace: string,
): string {
	return kind === runKind.kind
		? `Wait for it again: tidemill runs wait ${name} -n ${namespace}`
		: `See how it ended: kubectl get ${kind.toLowerCase()} ${name} -n ${namespace}`;
}

/** Says how many rows a Run loaded. Throws {@link CommandError} if it didn't succeed. */
export function requireSuccess({ metadata, status = {} }: Run): void {
	const { phase, error } = status;
	if (phase === "Succeeded") remark(loadedText({ metadata, status }));
	else
		throw new CommandError(
			error
				? `${metadata.name} failed: ${error.message} (${error.code})`
				: `${metadata.name} was cancelled.`,
		);
}

/** A Run that finds nothing succeeds, and people then look for their events. */
export function loadedText({
	metadata,
	status = {},
}: Pick<Run, "metadata" | "status">): string {
	const { rows = 0, dates } = status;
	const loaded = dates ? ` of ${dates.start} to ${dates.end}` : "";
	const unfit = unfitText(unfitColumns(status));
	const text =
		rows === 0
			? `Loaded 0 rows: the pipeline's source has no events for it${loaded}. See what came and what was refused: tidemill sources list -n ${metadata.namespace}`
			: `Loaded ${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}${loaded}.`;
	return `${text}\n${unfit && `${unfit}\n`}`;
}

/** How a Run stands, as last seen. */
interface ShownRun {
	phase: string;
	/** What it waits for before it starts. */
	waitsFor?: string | undefined;
	/** The Pipeline, if that is what can't run. */
	pipeline?: string | undefined;
}

/** Whether only people can make the Pipeline ready. Who may not read it waits on. */
async function isLost(
	client: KubeClient,
	pipeline: string,
	namespace: string,
): Promise<boolean> {
	const found = await client
		.get<Pipeline>(pipelineKind, pipeline, namespace)
		.catch(() => undefined);
	return found !== undefined && (await lostUntilMended())(found);
}

async function showProgress(
	{ client, namespace }: Cluster,
	run: Run,
	{
		shown,
		lines,
		stuck,
	}: { shown: ShownRun; lines: ProgressLines; stuck: AbortController },
	ended: AbortSignal,
): Promise<void> {
	const { name } = run.metadata;
	while (!ended.aborted) {
		const progress = await progressOf(() =>
			readJobLog(client, namespace, name, logLines),
		);
		const { phase, waitsFor, pipeline } = shown;
		if (!ended.aborted)
			lines.update(
				{
					...{ run: name, phase },
					...(waitsFor && { message: waitsFor }),
					...progress,
				},
				(columns) =>
					progressBar(
						waitsFor ? `${phase}: ${waitsFor}` : phase,
						progress,
						columns,
					),
			);
		if (pipeline && (await isLost(client, pipeline, namespace))) stuck.abort();
		await pause(pollMs, ended);
	}
	lines.clear();
}

/** Returns undefined if the log is unavailable: without permission, without a Pod, or after a failed request. */
async function progressOf(
	readLog: () => Promise<string | undefined>,
): Promise<RunProgress | undefined> {
	try {
		return progressIn((await readLog()) ?? "");
	} catch (error) {
		if (error instanceof KubeApiError || error instanceof TransportError)
			return undefined;
		throw error;
	}
}

/** Creates an Operation, and returns it once it has succeeded. Throws {@link CommandError} if it ends otherwise. */
export async function performOperation(
	cluster: Cluster,
	spec: Partial<OperationSpec> & Pick<OperationSpec, "type" | "sourceRef">,
): Promise<Operation> {
	const { client, namespace } = cluster;
	const name = operationName(spec.sourceRef.name, spec.type);
	const created = await client.create<Operation>(
		operationKind,
		{ metadata: { name, namespace }, spec } as Operation,
		// A field that the cluster doesn't know, such as erase.dryRun, must not get lost.
		{ fieldManager: "tidemill", strict: true },
	);
	const lines = new ProgressLines();
	lines.say({ operation: name }, `Operation ${name}`);
	const ended = await untilEnded(cluster, operationKind, created, (seen) => {
		if (hasEnded(seen)) return;
		const { status } = seen;
		const message = findCondition(status?.conditions, "Complete")?.message;
		const phase = status?.phase ?? "Pending";
		if (message !== undefined)
			lines.say({ operation: name, phase, message }, message);
	});
	const { phase, error } = ended.status ?? {};
	lines.note({ operation: name, phase, error });
	if (phase === "Succeeded") return ended;
	throw new CommandError(
		error
			? `${name} failed: ${error.message} (${error.code})`
			: `${name} was cancelled.`,
	);
}

/** What tells whether something is wrong with an object, as its spec is now, that only people can fix. */
export async function lostUntilMended() {
	const { mendedByPeople } = await import(
		"../../operator/reconcile/reasons.ts"
	);
	return ({
		metadata: { generation },
		status,
	}: KubeObject & { status?: { conditions?: Condition[] } }): boolean => {
		const ready = findCondition(status?.conditions, "Ready");
		if (ready?.status !== "False") return false;
		const { observedGeneration = generation, reason } = ready;
		return observedGeneration === generation && mendedByPeople.has(reason);
	};
}

/**
 * Says on standard error how far a piece of work is: on a terminal as text for people, and otherwise as a line of JSON for
 * programs, once for each change.
 */
export class ProgressLines {
	readonly #stream: NodeJS.WriteStream;
	#said = "";
	#noted = "";

	constructor(stream = process.stderr) {
		this.#stream = stream;
	}

	/** One line for each text. */
	say(facts: object, text: string): void {
		if (!this.#stream.isTTY) this.note(facts);
		else if (text !== this.#said)
			this.#stream.write(`${linesForTerminal(text)}\n`);
		this.#said = text;
	}

	/** On a terminal, one line that is updated in place, which `text` makes for its width. */
	update(facts: object, text: (columns: number) => string): void {
		const { isTTY, columns = 80 } = this.#stream;
		if (isTTY)
			this.#stream.write(`\r\x1b[K${lineForTerminal(text(columns - 1))}`);
		else this.note(facts);
	}

	/** What only programs need. */
	note(facts: object): void {
		const said = JSON.stringify(facts);
		if (this.#stream.isTTY || said === this.#noted) return;
		this.#noted = said;
		const time = new Date().toISOString();
		this.#stream.write(`${jsonText({ time, ...facts })}\n`);
	}

	/** Removes the line that was updated in place. */
	clear(): void {
		if (this.#stream.isTTY) this.#stream.write("\r\x1b[K");
	}
}

/** One line with the progress of a run, at most `columns` wide. */
export function progressBar(
	phase: string,
	progress: RunProgress | undefined,
	columns: number,
): string {
	if (!progress) return phase.slice(0, columns);
	const { daysDone, daysTotal, rowsDone, rowsTotal } = progress;
	const label = ` ${daysDone} of ${count(daysTotal, "day")}, ${figure(rowsDone)} of ${count(rowsTotal, "row")}`;
	const width = Math.min(40, columns - label.length - 2);
	if (width < 5) return label.trim().slice(0, columns);
	// Rows measure the work, but a run may have none.
	const done = rowsTotal > 0 ? rowsDone / rowsTotal : daysDone / daysTotal;
	const filled = Math.round(width * Math.min(1, done || 0));
	return `[${"█".repeat(filled)}${"░".repeat(width - filled)}]${label}`;
}

function count(number: number, noun: string): string {
	return `${figure(number)} ${noun}${number === 1 ? "" : "s"}`;
}

function figure(number: number): string {
	return number.toLocaleString("en");
}
