import { useState } from "preact/hooks";
import { addDays } from "../../packages/contracts/utc-date.ts";
import { live } from "../api/changes.ts";
import { api } from "../api/request.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { SelectField } from "../components/field.tsx";
import { Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import type { Source, SourceDays } from "../generated/types.ts";
import { home as words } from "../messages/home.ts";
import { href } from "../router/navigation.ts";
import { progressOf, type SourceDay } from "../sources/activity.ts";
import { useBounded } from "../sources/use-bounded.ts";

const width = 20;
const height = 96;

/** What came to one Source on each of the last 31 dates. One Source at a time: each is a request, and an account has hundreds. */
export function DayBars({ sources }: { sources: readonly Source[] }) {
	const [name, setName] = useState(() => latestOf(sources));
	const source = sources.find((one) => one.name === name);
	const progress = useBounded(
		source ? progressOf(source, live("pipelines").values()) : "",
	);
	const { answer, problem, retry } = useLoaded(
		async (signal) => {
			const path = `sources/${encodeURIComponent(name)}/days`;
			return { name, days: await api.get<SourceDays>(path, { signal }) };
		},
		[name, progress],
	);
	return (
		<section class="group" aria-labelledby="days">
			<div class="group-head">
				<h2 id="days">{words.daysTitle}</h2>
				<SelectField
					label={words.daysOf}
					value={name}
					options={sources.map((source) => [source.name, source.name] as const)}
					onChange={setName}
				/>
			</div>
			<p class="quiet">{words.daysHelp}</p>
			{problem && <ProblemBox problem={problem} onRetry={retry} triesItself />}
			{answer?.name === name ? (
				<Bars source={name} days={answer.days.items} />
			) : (
				!problem && <Skeleton lines={3} />
			)}
			<p class="quiet">{words.refusedKept}</p>
		</section>
	);
}

function Bars({
	source,
	days,
}: {
	source: string;
	days: readonly SourceDay[];
}) {
	const shown = days.toSorted((a, b) => (a.date < b.date ? -1 : 1));
	const most = Math.max(
		1,
		...shown.map((day) => storedOf(day) + day.quarantined),
	);
	const heightOf = (events: number) =>
		events === 0 ? 0 : Math.max(2, Math.round((events / most) * height));
	return (
		<>
			<ol class="bars">
				{shown.map((day) => {
					const stored = storedOf(day);
					const above = heightOf(day.quarantined);
					const below = heightOf(stored);
					const text = words.day(
						day.date,
						stored.toLocaleString("en"),
						day.quarantined.toLocaleString("en"),
					);
					return (
						<li key={day.date}>
							<a
								href={href(`sources/${source}`, {
									from: day.date,
									to: addDays(day.date, 1),
								})}
								title={text}
							>
								<svg viewBox={`0 0 ${width} ${height + 4}`} aria-hidden="true">
									<rect
										class="bar-stored"
										x="2"
										width={width - 4}
										y={height - below}
										height={below}
									/>
									<rect
										class="bar-quarantined"
										x="2"
										width={width - 4}
										y={Math.max(0, height - below - above)}
										height={above}
									/>
									<rect
										class="bar-base"
										width={width}
										y={height + 2}
										height="1"
									/>
								</svg>
								<span class="quiet" aria-hidden="true">
									{Number(day.date.slice(8))}
								</span>
								<span class="visually-hidden">{text}</span>
							</a>
						</li>
					);
				})}
			</ol>
			<p class="bar-words" aria-hidden="true">
				<span class="bar-key bar-key-stored" /> {words.stored}{" "}
				<span class="bar-key bar-key-quarantined" /> {words.quarantinedWord}
			</p>
		</>
	);
}

/** Imported ones are in the bucket, too. */
function storedOf({ stored, imported }: SourceDay): number {
	return stored + imported;
}

function latestOf(sources: readonly Source[]): string {
	const [latest] = sources.toSorted((a, b) =>
		(a.lastEventTime ?? "") > (b.lastEventTime ?? "") ? -1 : 1,
	);
	return latest?.name ?? "";
}
