import type { ComponentChildren } from "preact";
import { isReady, live } from "../api/changes.ts";
import { usePages } from "../api/use-pages.ts";
import { DataTable } from "../components/data-table.tsx";
import { Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import { runs as words } from "../messages/runs.ts";
import { href } from "../router/navigation.ts";
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
	const { pipeline } = filter;
	const query = { pipeline, status: filter.status, from: date, to: date };
	const read = usePages<RunView>("runs", query, pageSize);
	const { items: runs, hasMore, more, problem, isLoading, retry } = read;
	const newest = live("runs") as unknown as ReadonlyMap<string, RunView>;
	const rows = mergedRuns(runs, newest, filter, hasMore).filter(
		({ createTime }) => !date || createTime.startsWith(date),
	);
	const isWaiting = !problem && (isLoading || !isReady("runs"));
	if (rows.length === 0 && isWaiting) return <Skeleton />;
	return (
		<>
			{problem && <ProblemBox problem={problem} onRetry={retry} triesItself />}
			{rows.length === 0 ? (
				!problem && !hasMore && empty
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
			{hasMore && (
				<div class="actions">
					<button type="button" disabled={isLoading} onClick={() => more()}>
						{isLoading ? words.loading : words.older}
					</button>
				</div>
			)}
		</>
	);
}
