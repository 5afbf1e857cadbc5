import { addDays } from "../../packages/contracts/utc-date.ts";
import { api } from "../api/request.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import type { SourceDays } from "../generated/types.ts";
import { runs } from "../messages/runs.ts";
import { sources as words } from "../messages/sources.ts";
import { setQuery } from "../router/navigation.ts";
import { loadedState, type SourceDay, weeksOf } from "./activity.ts";

/**
 * The last 31 dates: what came on each, what of it is stored, and whether the tables have it.
 * @param progress another one reads the counts again
 */
export function SourceDaysCalendar({
	source,
	progress,
}: {
	source: string;
	progress: string;
}) {
	const path = `sources/${encodeURIComponent(source)}/days`;
	const { answer, problem, retry } = useLoaded(
		(signal) => api.get<SourceDays>(path, { signal }),
		[path, progress],
	);
	const days = answer?.items;
	return (
		<section aria-label={words.daysTitle}>
			<h2>{words.daysTitle}</h2>
			{problem && <ProblemBox problem={problem} onRetry={retry} triesItself />}
			{days ? (
				<table class="calendar">
					<caption class="visually-hidden">{words.daysTitle}</caption>
					<thead>
						<tr>
							{runs.weekdays.map((weekday) => (
								<th key={weekday} scope="col">
									{weekday}
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{weeksOf(days).map((week) => (
							<tr key={week[0]!.date}>
								{week.map(({ date, day }) => (
									<td key={date} class={day ? undefined : "other"}>
										<Day date={date} day={day} />
									</td>
								))}
							</tr>
						))}
					</tbody>
				</table>
			) : (
				!problem && <Skeleton lines={5} />
			)}
		</section>
	);
}

/** A date with what came; it leads to the date's events. */
function Day({ date, day }: { date: string; day: SourceDay | undefined }) {
	const number = <span class="day">{Number(date.slice(8))}</span>;
	if (!day || day.received + day.imported === 0) return number;
	const state = loadedState(day);
	const { received, stored, quarantined, imported } = day;
	const text = words.dayCounts(received, stored, quarantined, imported);
	return (
		<button
			type="button"
			class="day-button"
			title={text}
			onClick={() => setQuery({ from: date, to: addDays(date, 1) })}
		>
			{number}
			<span class="day-count" aria-hidden="true">
				{words.short(received + imported)}
			</span>
			<span class="visually-hidden">
				{date}: {text}
			</span>
			{state && <StatusBadge status={state} label={words.dayStates[state]} />}
			{quarantined > 0 && (
				<StatusBadge status="quarantined" label={words.dayHeld(quarantined)} />
			)}
		</button>
	);
}
