import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isReady, live } from "../api/changes.ts";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { DataTable } from "../components/data-table.tsx";
import { Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import { runs as words } from "../messages/runs.ts";
import { href, namespace } from "../router/navigation.ts";
import type { RunView } from "./calendar.ts";
import { durationText, hasEnded } from "./progress.ts";
import { mergedRuns, type RunFilter } from "./run-list.ts";

/** Runs, the newest first: those of the live stream, and older ones page by page. */
export function RunTable({
	filter,
	pageSize,
	empty,
	date,
}: {
	filter: RunFilter;
	pageSize: number;
	empty: ComponentChildren;
	/** Only those that were created on this UTC date. */
	date?: string | undefined;
}) {
	const [pages, setPages] = useState<RunView[]>([]);
	const [cursor, setCursor] = useState<string>();
	const [isBusy, setBusy] = useState(true);
	const [problem, setProblem] = useState<ApiProblem>();
	const { pipeline, status } = filter;
	/** Of the filter as it is. */
	const leaving = useRef(new AbortController());
	const load = async (from: string | undefined, signal: AbortSignal) => {
		setBusy(true);
		setProblem(undefined);
		try {
			const page = await api.get<{ items: RunView[]; cursor?: string }>(
				"runs",
				{ query: { pipeline, status, limit: pageSize, cursor: from }, signal },
			);
			if (signal.aborted) return;
			setPages((before) =>
				from === undefined ? page.items : [...before, ...page.items],
			);
			setCursor(page.cursor);
		} catch (error) {
			if (signal.aborted) return;
			if (!(error instanceof ApiProblem)) throw error;
			setProblem(error);
		}
		setBusy(false);
	};
	const here = namespace.value;
	// Before the browser paints, which may take longer than the answer.
	useLayoutEffect(() => {
		leaving.current = new AbortController();
		void load(undefined, leaving.current.signal);
		return () => leaving.current.abort();
	}, [pipeline, status, here, pageSize]);

	const newest = live("runs") as unknown as ReadonlyMap<string, RunView>;
	const rows = mergedRuns(pages, newest, filter, cursor !== undefined).filter(
		({ createTime }) => !date || createTime.startsWith(date),
	);
	if (rows.length === 0 && (isBusy || !isReady("runs"))) return <Skeleton />;
	return (
		<>
			{problem && (
				<ProblemBox
					problem={problem}
					onRetry={() => void load(cursor, leaving.current.signal)}
				/>
			)}
			{rows.length === 0 ? (
				!problem && empty
			) : (
				<DataTable
					caption={pipeline === "" ? words.allRuns : words.runsOf(pipeline)}
					rows={rows}
					keyOf={({ name }) => name}
					columns={[
						{
							key: "run",
							title: words.run,
							render: ({ name }) => <a href={href(`runs/${name}`)}>{name}</a>,
						},
						{
							key: "pipeline",
							title: words.pipeline,
							render: ({ pipeline }) => (
								<a href={href(`pipelines/${pipeline}`)}>{pipeline}</a>
							),
						},
						{
							key: "status",
							title: words.status,
							render: ({ status }) => <StatusBadge status={status} />,
						},
						{
							key: "rows",
							title: words.rows,
							isNumber: true,
							render: ({ rows }) => rows?.toLocaleString("en") ?? "",
						},
						{
							key: "dates",
							title: words.dates,
							render: ({ dates }) =>
								dates && (
									<>
										<span class="date">{dates.start}</span>
										{dates.start !== dates.end && (
											<>
												{" – "}
												<span class="date">{dates.end}</span>
											</>
										)}
									</>
								),
						},
						{
							key: "created",
							title: words.started,
							render: ({ createTime }) => <Time at={createTime} />,
						},
						{
							key: "took",
							title: words.took,
							render: (run) =>
								hasEnded(run) &&
								durationText(
									Date.parse(run.completionTime!) - Date.parse(run.createTime),
								),
						},
						{
							key: "trigger",
							title: words.trigger,
							render: ({ trigger }) => trigger,
						},
					]}
				/>
			)}
			{cursor !== undefined && (
				<div class="actions">
					<button
						type="button"
						disabled={isBusy}
						onClick={() => void load(cursor, leaving.current.signal)}
					>
						{isBusy ? words.loadingOlder : words.older}
					</button>
				</div>
			)}
		</>
	);
}
