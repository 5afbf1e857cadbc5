import { live } from "../api/changes.ts";
import { usePages } from "../api/use-pages.ts";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { runs as words } from "../messages/runs.ts";
import { href, setQuery } from "../router/navigation.ts";
import {
	type CalendarDay,
	monthBeside,
	monthIn,
	monthOf,
	type RunView,
} from "./calendar.ts";
import { mergedRuns, type RunFilter } from "./run-list.ts";

/** The API's largest page. */
const pageSize = 1_000;
/** A tab may make ten requests in a minute. */
const pagesOfClick = 9;

/** The Runs of a month by the UTC date on which each was created: those of the live stream and of one page, and more by a button. */
export function RunCalendar({
	filter,
	month: wanted,
}: {
	filter: RunFilter;
	month: string | undefined;
}) {
	const month = monthIn(wanted, Date.now());
	const { pipeline, status } = filter;
	const dates = monthOf(month, []).flat();
	const query = {
		...{ pipeline, status },
		...{ from: dates[0]!.date, to: dates.at(-1)!.date },
	};
	const read = usePages<RunView>("runs", query, pageSize);
	const { items: runs, hasMore, total, more, problem, isLoading, retry } = read;
	const newest = live("runs") as unknown as ReadonlyMap<string, RunView>;
	const counted = mergedRuns(runs, newest, filter);
	const weeks = monthOf(month, counted);
	// The stream has Runs of other months, too.
	const shown = weeks.flat().reduce((sum, { runs }) => sum + runs, 0);
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
			{problem && <ProblemBox problem={problem} onRetry={retry} triesItself />}
			{hasMore && (
				<div class="notice notice-warning">
					<p>{words.countedRuns(shown, total)}</p>
					<button
						type="button"
						disabled={isLoading}
						onClick={() => more(pagesOfClick)}
					>
						{isLoading ? words.loading : words.countMore}
					</button>
				</div>
			)}
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
	if (runs === 0) return number;
	const counted = Object.entries(counts).sort(([, a], [, b]) => b - a);
	const text = counted
		.map(([status, count]) => `${count} ${status}`)
		.join(", ");
	return (
		<a href={href("runs", { ...filter, date })}>
			{number}
			{counted.map(([status, count]) => (
				<StatusBadge key={status} status={status} label={String(count)} />
			))}
			<span class="visually-hidden"> {words.dayRuns(date, text)}</span>
		</a>
	);
}
