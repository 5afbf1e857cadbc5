import { useEffect, useState } from "preact/hooks";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { can } from "../api/session.ts";
import type { RecentEvent } from "./columns.ts";

/** So few that a preview is one of the ten requests that a page may make in a minute for each of them. */
const shownEvents = 5;

export type RecentEvents =
	| { state: "none" }
	| { state: "loading" }
	| { state: "failed"; problem: ApiProblem }
	| { state: "ready"; events: RecentEvent[]; hasBodies: boolean };

/** The latest events of a Source, with their bodies for who may see those. @param round another number asks again */
export function useRecentEvents(source: string, round: number): RecentEvents {
	const [recent, setRecent] = useState<RecentEvents>({ state: "none" });
	useEffect(() => {
		if (source === "" || !can("sources/events", "get"))
			return setRecent({ state: "none" });
		const leaving = new AbortController();
		setRecent({ state: "loading" });
		recentEvents(source, leaving.signal).then(setRecent, (error: unknown) => {
			if (leaving.signal.aborted) return;
			if (!(error instanceof ApiProblem)) throw error;
			setRecent({ state: "failed", problem: error });
		});
		return () => leaving.abort();
	}, [source, round]);
	return recent;
}

async function recentEvents(
	source: string,
	signal: AbortSignal,
): Promise<RecentEvents> {
	const path = `sources/${encodeURIComponent(source)}/events`;
	const { items } = await api.get<{ items: RecentEvent[] }>(path, {
		query: { limit: shownEvents },
		signal,
	});
	const hasBodies = can("sources/bodies", "get");
	const events = hasBodies
		? await Promise.all(items.map((event) => withBody(path, event, signal)))
		: items;
	return { state: "ready", events, hasBodies };
}

/** An event may be gone by the time it is asked for; the others are shown all the same. */
async function withBody(
	path: string,
	event: RecentEvent,
	signal: AbortSignal,
): Promise<RecentEvent> {
	try {
		return await api.get<RecentEvent>(`${path}/${event.eventId}`, {
			query: { body: true },
			signal,
		});
	} catch (error) {
		if (error instanceof ApiProblem && error.status === 404) return event;
		throw error;
	}
}
