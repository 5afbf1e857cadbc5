import {
	EventStreamParser,
	type ServerEvent,
} from "../../packages/service/event-stream.ts";
import { pause } from "../../packages/service/pause.ts";
import { ApiProblem } from "./problem.ts";
import { api } from "./request.ts";

export type ConnectionState = "connecting" | "live" | "lost" | "refused";

export interface StreamListener {
	onEvents(events: ServerEvent[]): void;
	onState(state: ConnectionState, problem?: ApiProblem): void;
}

/** The API's heartbeat comes more often than that. */
const silenceMs = 35_000;
const longestPauseMs = 10_000;

/**
 * Follows a stream of the API until the signal fires, connecting again when it breaks: after 1 s at first, then less and less
 * often. A refusal other than of too many requests ends it.
 */
export async function followStream(
	path: string,
	query: Record<string, string | boolean>,
	listener: StreamListener,
	signal: AbortSignal,
): Promise<void> {
	let lastId: string | undefined;
	listener.onState("connecting");
	for (let failures = 0; !signal.aborted; failures++) {
		let problem: ApiProblem | undefined;
		const attempt = new AbortController();
		const stop = () => attempt.abort();
		signal.addEventListener("abort", stop);
		let silence = setTimeout(stop, silenceMs);
		try {
			const answer = await api.stream(path, {
				query,
				signal: attempt.signal,
				...(lastId !== undefined && { headers: { "Last-Event-ID": lastId } }),
			});
			const parser = new EventStreamParser();
			const reader = answer
				.body!.pipeThrough(new TextDecoderStream())
				.getReader();
			for (;;) {
				const { done, value } = await reader.read();
				if (done) break;
				clearTimeout(silence);
				silence = setTimeout(stop, silenceMs);
				const events = parser.push(value);
				if (events.length === 0) continue;
				lastId = events.at(-1)!.id ?? lastId;
				failures = 0;
				listener.onState("live");
				listener.onEvents(events);
			}
		} catch (error) {
			if (signal.aborted) return;
			if (error instanceof ApiProblem) problem = error;
			if (problem && [400, 401, 403, 404].includes(problem.status))
				return listener.onState("refused", problem);
		} finally {
			clearTimeout(silence);
			signal.removeEventListener("abort", stop);
		}
		if (signal.aborted) return;
		// With the reason if there is one, such as too many readers of one Source.
		listener.onState("lost", problem);
		const pauseMs = Math.min(1000 * 2 ** failures, longestPauseMs);
		await pause(failures === 0 ? 1000 : pauseMs, signal);
	}
}
