import { useEffect, useRef, useState } from "preact/hooks";
import { api, type Query } from "../api/request.ts";
import { can } from "../api/session.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { usePages } from "../api/use-pages.ts";
import { DataTable } from "../components/data-table.tsx";
import { SelectField, TextField } from "../components/field.tsx";
import { EmptyState, Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import type { EventList, Source } from "../generated/types.ts";
import { sources as words } from "../messages/sources.ts";
import { address, setQuery } from "../router/navigation.ts";
import { EventDetail } from "./event-detail.tsx";
import { EventLoads } from "./event-loads.tsx";
import { useBodies } from "./use-bodies.ts";

type ListedEvent = EventList["items"][number];

const pageSize = 25;
/** Whoever types a filter isn't done at the first letter. */
const quietMs = 300;

/** A page of stored events at a time, by the filters in the address; the one that the address names stands open. */
export function StoredEvents({
	source,
	progress,
}: {
	source: Source;
	/** Another one reads again where the events are. */
	progress: string;
}) {
	const { query } = address.value;
	const state = (query.get("state") ?? "") as keyof typeof words.states;
	const type = query.get("type") ?? "";
	const from = query.get("from") ?? "";
	const to = query.get("to") ?? "";
	const shown = query.get("event");
	const text = query.get("text") ?? "";
	const match = query.get("match") ?? "";
	const [round, setRound] = useState(0);
	const seesBodies = can("sources/bodies", "get");
	// Half a search would find what nobody means.
	const search = seesBodies && /^.*=./.test(match) ? match : "";
	const filters = {
		...{ state, type, from: instant(from), to: instant(to) },
		match: search,
	};
	const read = useEvents(source, filters, round, progress);
	const { events, hasMore, isLoading, problem, retry } = read;
	const { findMore } = useSearch(read, search);
	const bodies = useBodies(
		source.name,
		events.map(({ eventId }) => eventId),
		seesBodies && text !== "",
	);
	const rows =
		seesBodies && text !== ""
			? events.filter(({ eventId }) =>
					bodies.get(eventId)?.includes(text.toLowerCase()),
				)
			: events;
	return (
		<section aria-label={words.eventsTitle}>
			<h2>{words.eventsTitle}</h2>
			<div class="filters">
				<SelectField
					label={words.state}
					value={state}
					options={
						Object.entries(words.states) as [
							keyof typeof words.states,
							string,
						][]
					}
					onChange={(value) => setQuery({ state: value })}
				/>
				<TextField
					label={words.type}
					value={type}
					placeholder={words.anyType}
					onInput={(value) => setQuery({ type: value })}
				/>
				<TextField
					label={words.from}
					type="date"
					value={from}
					onInput={(value) => setQuery({ from: value })}
				/>
				<TextField
					label={words.to}
					type="date"
					value={to}
					onInput={(value) => setQuery({ to: value })}
				/>
				{seesBodies && (
					<TextField
						label={words.match}
						type="search"
						value={match}
						placeholder="/order/id=1001"
						onInput={(value) => setQuery({ match: value })}
					/>
				)}
				{seesBodies && (
					<TextField
						label={words.text}
						type="search"
						value={text}
						onInput={(value) => setQuery({ text: value })}
					/>
				)}
				<button type="button" onClick={() => setRound(round + 1)}>
					{words.reload}
				</button>
			</div>
			{seesBodies && text !== "" && events.length > 0 && (
				<p class="quiet" role="status">
					{words.textFound(rows.length, bodies.size, events.length)}
				</p>
			)}
			{search !== "" && !problem && (
				<p class="quiet" role="status">
					{words.searched(events.length, hasMore || isLoading, from)}
					{read.reached && (
						<>
							{" "}
							{words.searchedTo} <Time at={read.reached} />
						</>
					)}
				</p>
			)}
			{problem && <ProblemBox problem={problem} onRetry={retry} triesItself />}
			{shown && (
				<EventDetail
					key={shown}
					source={source}
					id={shown}
					progress={progress}
					onClose={() => setQuery({ event: undefined })}
				/>
			)}
			{rows.length > 0 ? (
				<DataTable
					caption={words.eventTable}
					rows={rows}
					keyOf={({ eventId }) => eventId}
					columns={[
						...columns,
						...(seesBodies ? [glimpseColumn] : []),
						...(seesLoads() ? [loadsColumn] : []),
					]}
				/>
			) : events.length > 0 ? null : isLoading ? (
				<Skeleton />
			) : (
				!problem && (
					<EmptyState title={words.noEvents}>
						<p>{words.noEventsHelp}</p>
					</EmptyState>
				)
			)}
			{hasMore && (
				<button type="button" disabled={isLoading} onClick={findMore}>
					{words.more}
				</button>
			)}
		</section>
	);
}

const columns = [
	{
		key: "event",
		title: words.event,
		render: ({ eventId }: ListedEvent) => (
			<button
				type="button"
				class="button-link"
				onClick={() => setQuery({ event: eventId })}
			>
				<code>{eventId}</code>
			</button>
		),
	},
	{
		key: "time",
		title: words.time,
		render: ({ time }: ListedEvent) => <Time at={time} />,
	},
	{
		key: "type",
		title: words.type,
		render: ({ type = "" }: ListedEvent) => type,
	},
	{
		key: "state",
		title: words.state,
		render: ({ state }: ListedEvent) => (
			<StatusBadge status={state} label={words.states[state] ?? state} />
		),
	},
	{
		key: "size",
		title: words.size,
		isNumber: true,
		render: ({ bytes }: ListedEvent) => words.bytes(bytes),
	},
];

const glimpseColumn = {
	key: "glimpse",
	title: words.body,
	render: ({ glimpse = "" }: ListedEvent) => (
		<code class="glimpse">{glimpse}</code>
	),
};

const loadsColumn = {
	key: "loads",
	title: words.loads,
	render: ({ loads = [] }: ListedEvent) => <EventLoads loads={loads} />,
};

function seesLoads(): boolean {
	return can("pipelines", "list") && can("runs", "list");
}

/** Whether another read may say more of where it is. */
function isOnItsWay({ state, loads = [] }: ListedEvent): boolean {
	return (
		state === "quarantined" || loads.some((load) => load.state === "Waiting")
	);
}

/** The start of a UTC date, as the API has it; empty for none, or half a date. */
function instant(date: string): string {
	return /^\d{4}-\d\d-\d\d$/.test(date) ? `${date}T00:00:00Z` : "";
}

/**
 * The first page by the filters, and the next ones when asked for. New events make no request: `round` asks again. Where the events
 * of the first page are is read again when there is progress.
 */
function useEvents(
	{ name }: Source,
	filters: Record<string, string>,
	round: number,
	progress: string,
) {
	const path = `sources/${encodeURIComponent(name)}/events`;
	const settled = useSettled(filters);
	const query = {
		...settled,
		glimpse: can("sources/bodies", "get") || undefined,
		loads: seesLoads() || undefined,
	};
	const list = usePages<ListedEvent>(path, query, pageSize, round);
	const { items, isLoading } = list;
	// What the filters before have found stays until the next is there.
	const found = useRef(items);
	if (!isLoading || items.length > 0) found.current = items;
	const events = useNewest(found.current, { ...list, path, query, progress });
	const isSettled = JSON.stringify(settled) === JSON.stringify(filters);
	return { ...list, isLoading: isLoading || !isSettled, events };
}

/** A search reads on by itself until it has found a page more: a page of the API ends after some seconds of reading, with what it found. */
function useSearch(
	{
		key,
		events,
		hasMore,
		isLoading,
		problem,
		more,
	}: ReturnType<typeof useEvents>,
	search: string,
): { findMore(): void } {
	const wanted = useRef({ key, count: pageSize });
	if (wanted.current.key !== key) wanted.current = { key, count: pageSize };
	const goesOn =
		search !== "" &&
		hasMore &&
		!isLoading &&
		!problem &&
		events.length < wanted.current.count;
	useEffect(() => {
		if (goesOn) more();
	});
	return {
		findMore() {
			wanted.current.count = events.length + pageSize;
			more();
		},
	};
}

/** The filters, once nobody has changed them for a moment. */
function useSettled(filters: Query): Query {
	const key = JSON.stringify(filters);
	const [settled, setSettled] = useState(key);
	useEffect(() => {
		const timer = setTimeout(() => setSettled(key), quietMs);
		return () => clearTimeout(timer);
	}, [key]);
	return JSON.parse(settled);
}

/** The events with what was read of them since, if one was on its way when there was progress. */
function useNewest(
	events: readonly ListedEvent[],
	{
		key,
		path,
		query,
		progress,
	}: { key: string; path: string; query: Query; progress: string },
): ListedEvent[] {
	const asked = useRef({ key, first: progress, progress });
	const isOn = useRef(false);
	if (asked.current.key !== key)
		asked.current = { key, first: progress, progress };
	else if (isOn.current) asked.current.progress = progress;
	const { first, progress: last } = asked.current;
	const { answer } = useLoaded(
		async (signal) => {
			if (first === last) return undefined;
			const { items } = await api.get<EventList>(path, {
				query: { ...query, limit: pageSize },
				signal,
			});
			return { key, items };
		},
		[key, last],
	);
	const now = new Map(
		answer?.key === key
			? answer.items.map((event) => [event.eventId, event])
			: [],
	);
	const newest = events.map((event) => now.get(event.eventId) ?? event);
	isOn.current = newest.some(isOnItsWay);
	return newest;
}
