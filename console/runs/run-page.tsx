import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { live } from "../api/changes.ts";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { can } from "../api/session.ts";
import { type Loaded, useLoaded } from "../api/use-loaded.ts";
import { Conditions } from "../components/conditions.tsx";
import { DataTable } from "../components/data-table.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Page, Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import { toast } from "../components/toasts.ts";
import type { Run, RunStart } from "../generated/types.ts";
import { runs as words } from "../messages/runs.ts";
import { href, namespace } from "../router/navigation.ts";
import type { PageProps } from "../router/route.ts";
import {
	durationText,
	hasEnded,
	type RunCounts,
	shareDone,
} from "./progress.ts";
import { RunLogView, useRunLog } from "./run-log-view.tsx";
import { startRun } from "./run-now.tsx";

/** `runs/<name>`. */
export function RunPage({ params }: PageProps) {
	const name = params.name!;
	const { run, problem, retry } = useRun(name);
	const parents = [["runs", words.title]] as const;
	if (!run)
		return (
			<Page title={name} parents={parents}>
				{problem ? (
					<ProblemBox problem={problem} onRetry={retry} triesItself />
				) : (
					<Skeleton />
				)}
			</Page>
		);
	return (
		<Page
			title={name}
			parents={parents}
			badge={<StatusBadge status={run.status} />}
			actions={<Actions run={run} />}
		>
			<RunView run={run} />
		</Page>
	);
}

/** As the live stream has it. One that is older than the stream's is asked for until it ends. */
function useRun(name: string) {
	const streamed = live("runs").get(name);
	const isStreamed = streamed !== undefined;
	const read: Loaded<Run | undefined> = useLoaded(
		async (signal) =>
			isStreamed
				? undefined
				: api.get<Run>(`runs/${encodeURIComponent(name)}`, {
						// It answers when the Run changes.
						query: { wait: read.answer && "30s" },
						signal,
					}),
		[name, isStreamed, namespace.value],
	);
	const { answer, problem, retry } = read;
	useEffect(() => {
		if (answer && !hasEnded(answer)) retry();
	}, [answer]);
	return { run: streamed ?? answer, problem, retry };
}

function Actions({ run }: { run: Run }) {
	const [problem, setProblem] = useState<ApiProblem>();
	const [isAsking, setAsking] = useState(false);
	const [isBusy, setBusy] = useState(false);
	const act = async (action: () => Promise<unknown>) => {
		setBusy(true);
		setProblem(undefined);
		try {
			await action();
			setAsking(false);
		} catch (error) {
			if (!(error instanceof ApiProblem)) throw error;
			setProblem(error);
		} finally {
			setBusy(false);
		}
	};
	const cancel = async () => {
		await api.post(`runs/${encodeURIComponent(run.name)}/cancel`);
		toast(words.cancelled(run.name));
	};
	const mayCancel = can("runs", "patch") && !hasEnded(run) && !run.cancel;
	return (
		<>
			{hasEnded(run) && can("runs", "create") && (
				<button
					type="button"
					class="button-primary"
					disabled={isBusy}
					onClick={() => void act(() => startRun(run.pipeline, againOf(run)))}
				>
					{words.runAgain}
				</button>
			)}
			{mayCancel && (
				<button
					type="button"
					class="button-danger"
					onClick={() => setAsking(true)}
				>
					{words.cancelRun}
				</button>
			)}
			{isAsking && (
				<Dialog
					title={words.cancelTitle(run.name)}
					onClose={() => setAsking(false)}
				>
					<p>{words.cancelLoss}</p>
					{problem && <ProblemBox problem={problem} />}
					<div class="actions">
						<button type="button" onClick={() => setAsking(false)}>
							{words.keepRunning}
						</button>
						<button
							type="button"
							class="button-danger"
							disabled={isBusy}
							onClick={() => void act(cancel)}
						>
							{words.cancelRun}
						</button>
					</div>
				</Dialog>
			)}
			{!isAsking && problem && <ProblemBox problem={problem} />}
		</>
	);
}

/** The same dates, if somebody chose them; else what the Pipeline's rules say now. */
function againOf({ full, extent, dates }: Run): RunStart {
	if (full) return { full: true };
	return extent === "Chosen" && dates ? { dates } : {};
}

function RunView({ run }: { run: Run }) {
	const isEnded = hasEnded(run);
	const isRunning = run.status === "Running";
	const round = `${run.attempts ?? 0} ${run.completionTime ?? ""}`;
	const { log, state, retry } = useRunLog(run.name, isRunning, round);
	return (
		<>
			{run.error && (
				<section class="notice notice-bad" aria-labelledby="error">
					<h2 id="error">{words.error}</h2>
					<p>{run.error.message}</p>
					<p>
						<code>{run.error.code}</code>{" "}
						{run.error.retryable ? words.retryable : words.notRetryable}{" "}
						<a href={href(`pipelines/${run.pipeline}`)}>{words.toPipeline}</a>
					</p>
				</section>
			)}
			{!isEnded && <Waiting run={run} />}
			<Progress run={run} progress={log.progress} />
			<Facts run={run} />
			<Attempts run={run} />
			<UnfitValues run={run} />
			<RunLogView
				name={run.name}
				hasEnded={isEnded}
				log={log}
				state={state}
				onRetry={retry}
			/>
			<Conditions conditions={run.conditions} />
		</>
	);
}

/** Why it hasn't started, in the operator's words. */
function Waiting({ run: { conditions = [], status } }: { run: Run }) {
	const complete = conditions.find(({ type }) => type === "Complete");
	if (status !== "Pending" || !complete) return null;
	return (
		<section class="notice" aria-labelledby="waiting">
			<h2 id="waiting">{words.whatItWaitsFor}</h2>
			<p>{complete.message}</p>
		</section>
	);
}

function Progress({
	run,
	progress = {},
}: {
	run: Run;
	progress: RunCounts | undefined;
}) {
	if (hasEnded(run) && run.status !== "Succeeded") return null;
	const known = { ...progress, status: run.status };
	const share = shareDone(known);
	const { rowsDone, rowsTotal, daysDone, daysTotal } = progress;
	const parts = [
		daysTotal !== undefined && words.daysOf(daysDone ?? 0, daysTotal),
		rowsTotal !== undefined &&
			words.rowsOf(
				(rowsDone ?? 0).toLocaleString("en"),
				rowsTotal.toLocaleString("en"),
			),
	].filter(Boolean);
	const text =
		run.status === "Succeeded"
			? words.loaded(run.rows ?? 0)
			: run.status === "Pending"
				? words.waiting
				: parts.join(", ") || words.unknown;
	return (
		<section class="group" aria-labelledby="progress">
			<h2 id="progress">{words.progress}</h2>
			<progress
				aria-label={words.progressOf(run.name)}
				max={1}
				{...(share !== undefined && { value: share })}
			/>
			<p role="status">{text}</p>
		</section>
	);
}

function Facts({ run }: { run: Run }) {
	const number = (value: number | undefined) => value?.toLocaleString("en");
	const facts: [string, ComponentChildren][] = [
		[
			words.pipeline,
			<a key="pipeline" href={href(`pipelines/${run.pipeline}`)}>
				{run.pipeline}
			</a>,
		],
		[words.trigger, run.trigger],
		[words.started, <Time key="started" at={run.createTime} inFull />],
		[
			words.took,
			run.completionTime &&
				durationText(
					Date.parse(run.completionTime) - Date.parse(run.createTime),
				),
		],
		[
			words.dates,
			run.dates && (
				<>
					{run.dates.start === run.dates.end
						? run.dates.start
						: `${run.dates.start} – ${run.dates.end}`}
					{run.dateCount !== undefined && (
						<span class="quiet"> ({words.dateCount(run.dateCount)})</span>
					)}
				</>
			),
		],
		[words.extent, run.extent && (words.extents[run.extent] ?? run.extent)],
		[words.strategy, run.strategy],
		[words.rows, number(run.rows)],
		[words.addedRows, number(run.addedRows)],
		[words.unchangedDates, number(run.unchangedDates)],
		[words.repairedDates, run.repairedDates?.join(", ")],
		[words.otherRows, number(run.otherRows)],
		[words.quarantinedRows, number(run.quarantinedRows)],
		[
			words.bytes,
			run.bytes !== undefined &&
				`${number(run.bytes)} bytes ${words.objects(number(run.objects ?? 0)!)}`,
		],
		[
			words.snapshot,
			run.snapshotTime && <Time key="snapshot" at={run.snapshotTime} />,
		],
		[words.attempts, number(run.attempts)],
	];
	return (
		<section class="group" aria-labelledby="facts">
			<h2 id="facts">{words.facts}</h2>
			<dl class="facts">
				{facts
					.filter(([, value]) => value !== undefined && value !== false)
					.map(([name, value]) => (
						<div key={name}>
							<dt>{name}</dt>
							<dd>{value}</dd>
						</div>
					))}
			</dl>
		</section>
	);
}

function Attempts({ run: { failedAttempts = [] } }: { run: Run }) {
	if (failedAttempts.length === 0) return null;
	return (
		<DataTable
			caption={words.failedAttempts}
			isCaptionShown
			rows={failedAttempts}
			keyOf={({ pod }) => pod}
			columns={[
				{
					key: "pod",
					title: words.pod,
					render: ({ pod }) => <code>{pod}</code>,
				},
				{
					key: "error",
					title: words.error,
					render: ({ code, message }) => (
						<>
							<code>{code}</code> {message}
						</>
					),
				},
				{
					key: "ended",
					title: words.took,
					render: ({ completionTime }) => <Time at={completionTime} />,
				},
			]}
		/>
	);
}

function UnfitValues({ run: { unfitValues = [], rows } }: { run: Run }) {
	if (unfitValues.length === 0) return null;
	return (
		<section class="group">
			<DataTable
				caption={words.unfit}
				isCaptionShown
				rows={unfitValues}
				keyOf={({ column }) => column}
				columns={[
					{
						key: "column",
						title: words.column,
						render: ({ column }) => <code>{column}</code>,
					},
					{
						key: "rows",
						title: words.unfitRows,
						isNumber: true,
						render: (unfit) => unfit.rows.toLocaleString("en"),
					},
					{
						key: "values",
						title: words.values,
						isNumber: true,
						render: ({ values = rows }) => values?.toLocaleString("en"),
					},
					{
						key: "event",
						title: words.example,
						render: ({ eventID }) =>
							eventID && (
								<a href={href("search", { event: eventID })}>{eventID}</a>
							),
					},
				]}
			/>
			<p class="quiet">{words.unfitHelp}</p>
		</section>
	);
}
