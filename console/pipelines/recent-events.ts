import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { can } from "../api/session.ts";
import { useLoaded } from "../api/use-loaded.ts";
import type { RecentEvent } from "./columns.ts";

/** So few that a preview is one of the ten requests that a page may make in a minute for each of them. */
const shownEvents = 5;

export type RecentEvents =
	| { state: "none" }
	| { state: "loading" }
	| { state: "failed"; problem: ApiProblem; retry(): void }
	| {
			state: "ready";
			source: string;
			events: RecentEvent[];
			hasBodies: boolean;
	  };

/** The latest events of a Source, with their bodies for who may see those. @param round another number asks again */
export function useRecentEvents(source: string, round: number): RecentEvents {
	const isSeen = source !== "" && can("sources/events", "get");
	const { answer, problem, retry } = useLoaded(
		async (signal) => (isSeen ? recentEvents(source, signal) : undefined),
		[source, isSeen, round],
	);
	if (!isSeen) return { state: "none" };
	if (problem) return { state: "failed", problem, retry };
	// What was read of another Source isn't shown while its own are on their way.
	return answer?.source === source ? answer : { state: "loading" };
}

async function recentEvents(source: string, signal: AbortSignal) {
	const path = `sources/${encodeURIComponent(source)}/events`;
	const { items } = await api.get<{ items: RecentEvent[] }>(path, {
		query: { limit: shownEvents },
		signal,
	});
	const hasBodies = can("sources/bodies", "get");
	const events = hasBodies
		? await Promise.all(items.map((event) => withBody(path, event, signal)))
		: items;
	return { state: "ready" as const, source, events, hasBodies };
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
