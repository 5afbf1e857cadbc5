import { useEffect, useState } from "preact/hooks";
import { live } from "../api/changes.ts";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { runs as words } from "../messages/runs.ts";
import { href, namespace, setQuery } from "../router/navigation.ts";
import {
	type CalendarDay,
	dayStatus,
	monthBeside,
	monthIn,
	monthOf,
	type RunView,
} from "./calendar.ts";
import { mergedRuns, type RunFilter } from "./run-list.ts";

/** So many requests that a page may make in a minute, of the largest pages. */
const maxPages = 10;
const pageSize = 1_000;

/** The Runs of a month by the UTC date on which each was created. */
export function RunCalendar({
	filter,
	month: wanted,
}: {
	filter: RunFilter;
	month: string | undefined;
}) {
	const month = monthIn(wanted, Date.now());
	const { read, isWhole, problem } = useRunsSince(`${month}-01`, filter);
	const newest = live("runs") as unknown as ReadonlyMap<string, RunView>;
	const weeks = monthOf(month, mergedRuns(read, newest, filter));
	const go = (step: -1 | 1) => setQuery({ month: monthBeside(month, step) });
	return (
		<section class="group" aria-labelledby="month">
			<div class="group-head">
				<h2 id="month" aria-live="polite">
					{words.monthOf(month)}
				</h2>
				<div class="actions">
					<button type="button" onClick={() => go(-1)}>
						{words.previousMonth}
					</button>
					<button type="button" onClick={() => go(1)}>
						{words.nextMonth}
					</button>
				</div>
			</div>
			{problem && <ProblemBox problem={problem} />}
			{!isWhole && <p class="notice notice-warning">{words.tooMany}</p>}
			<table class="calendar">
				<caption class="visually-hidden">{words.monthOf(month)}</caption>
				<thead>
					<tr>
						{words.weekdays.map((day) => (
							<th key={day} scope="col">
								{day}
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{weeks.map((week) => (
						<tr key={week[0]!.date}>
							{week.map((day) => (
								<td key={day.date} class={day.isInMonth ? undefined : "other"}>
									<Day day={day} filter={filter} />
								</td>
							))}
						</tr>
					))}
				</tbody>
			</table>
		</section>
	);
}

function Day({ day, filter }: { day: CalendarDay; filter: RunFilter }) {
	const { date, runs, counts } = day;
	const number = <span class="day">{Number(date.slice(8))}</span>;
	const worst = dayStatus(day);
	if (runs === 0 || worst === undefined) return number;
	const text = Object.entries(counts)
		.map(([status, count]) => `${count} ${status}`)
		.join(", ");
	return (
		<a href={href("runs", { ...filter, date })}>
			{number}
			<StatusBadge status={worst} label={String(runs)} />
			<span class="visually-hidden"> {words.dayRuns(date, text)}</span>
		</a>
	);
}

/** The Runs since a date, page by page until an older one comes. */
function useRunsSince(date: string, { pipeline, status }: RunFilter) {
	const [read, setRead] = useState<RunView[]>([]);
	const [isWhole, setWhole] = useState(true);
	const [problem, setProblem] = useState<ApiProblem>();
	const here = namespace.value;
	useEffect(() => {
		const leaving = new AbortController();
		const { signal } = leaving;
		const load = async () => {
			let all: RunView[] = [];
			let cursor: string | undefined;
			for (let page = 0; page < maxPages; page++) {
				const next = await api.get<{ items: RunView[]; cursor?: string }>(
					"runs",
					{ query: { pipeline, status, limit: pageSize, cursor }, signal },
				);
				all = [...all, ...next.items];
				setRead(all);
				cursor = next.cursor;
				const oldest = all.at(-1);
				if (cursor === undefined || !oldest || oldest.createTime < date)
					return setWhole(true);
			}
			setWhole(false);
		};
		setRead([]);
		setProblem(undefined);
		load().catch((error: unknown) => {
			if (signal.aborted) return;
			if (!(error instanceof ApiProblem)) throw error;
			setProblem(error);
		});
		return () => leaving.abort();
	}, [date, pipeline, status, here]);
	return { read, isWhole, problem };
}
