import { useEffect, useRef, useState } from "preact/hooks";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { can } from "../api/session.ts";
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

interface EventPages {
	events: ListedEvent[];
	cursor?: string | undefined;
	isLoading: boolean;
	problem?: ApiProblem | undefined;
}

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
	const [round, setRound] = useState(0);
	const filters = { state, type, from: instant(from), to: instant(to) };
	const { pages, more } = useEvents(source, filters, round, progress);
	const { events, cursor, isLoading, problem } = pages;
	const seesBodies = can("sources/bodies", "get");
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
			{problem && (
				<ProblemBox problem={problem} onRetry={() => setRound(round + 1)} />
			)}
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
					columns={seesLoads() ? [...columns, loadsColumn] : columns}
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
			{cursor !== undefined && (
				<button type="button" disabled={isLoading} onClick={more}>
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
	const [pages, setPages] = useState<EventPages>({
		events: [],
		isLoading: true,
	});
	const key = JSON.stringify([name, filters, round]);
	const isFirst = useRef(true);
	/** Of the filters as they are: what another page of the ones before brings is dropped. */
	const newest = useRef(key);
	newest.current = key;
	const load = async (before: ListedEvent[], cursor?: string) => {
		const answer = await api.get<EventList>(
			`sources/${encodeURIComponent(name)}/events`,
			{
				query: {
					...filters,
					limit: pageSize,
					cursor,
					loads: seesLoads() || undefined,
				},
			},
		);
		return { events: [...before, ...answer.items], cursor: answer.cursor };
	};
	const show = async (before: ListedEvent[], cursor?: string) => {
		try {
			return { ...(await load(before, cursor)), isLoading: false };
		} catch (problem) {
			if (!(problem instanceof ApiProblem)) throw problem;
			return { events: before, cursor, problem, isLoading: false };
		}
	};
	useEffect(() => {
		let isLeft = false;
		setPages(({ events }) => ({ events, isLoading: true }));
		// Whoever types a filter isn't done at the first letter.
		const timer = setTimeout(
			async () => {
				const first = await show([]);
				if (!isLeft) setPages(first);
			},
			isFirst.current ? 0 : 300,
		);
		isFirst.current = false;
		return () => {
			isLeft = true;
			clearTimeout(timer);
		};
	}, [key]);
	const isOn = pages.events.some(isOnItsWay);
	const read = useRef(progress);
	useEffect(() => {
		if (read.current === progress) return;
		read.current = progress;
		if (!isOn) return;
		let isLeft = false;
		void show([]).then(({ events }) => {
			if (isLeft) return;
			const now = new Map(events.map((event) => [event.eventId, event]));
			setPages((shown) => ({
				...shown,
				events: shown.events.map((event) => now.get(event.eventId) ?? event),
			}));
		});
		return () => {
			isLeft = true;
		};
	}, [key, progress]);
	const more = async () => {
		setPages({ ...pages, isLoading: true });
		const longer = await show(pages.events, pages.cursor);
		if (newest.current === key) setPages(longer);
	};
	return { pages, more: () => void more() };
}
