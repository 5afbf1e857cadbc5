import { ApiProblem } from "./problem.ts";
import { api } from "./request.ts";

/** One event of a text/event-stream. */
export interface ServerEvent {
	/** `message` unless the stream says another. */
	event: string;
	data: string;
	id: string | undefined;
}

/** Reads a text/event-stream piece by piece (HTML Standard, "Interpreting an event stream"). */
export class EventStreamParser {
	#rest = "";
	#event = "";
	#data: string[] = [];
	#id: string | undefined;

	/** The events that are complete with this piece. */
	push(piece: string): ServerEvent[] {
		// A carriage return at the end may be half of a line's end.
		const text = this.#rest + piece;
		const lines = text.split(/\r\n|\n|\r(?!$)/);
		this.#rest = lines.pop()!;
		return lines.flatMap((line) => this.#take(line));
	}

	#take(line: string): ServerEvent[] {
		if (line === "") {
			const event = {
				event: this.#event || "message",
				data: this.#data.join("\n"),
				id: this.#id,
			};
			const isEmpty = this.#data.length === 0;
			this.#event = "";
			this.#data = [];
			return isEmpty ? [] : [event];
		}
		const colon = line.indexOf(":");
		const field = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
		if (field === "event") this.#event = value;
		else if (field === "data") this.#data.push(value);
		else if (field === "id") this.#id = value;
		return [];
	}
}

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
	for (let failures = 0; !signal.aborted; failures++) {
		listener.onState(failures === 0 ? "connecting" : "lost");
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
			const isFinal =
				error instanceof ApiProblem &&
				[400, 401, 403, 404].includes(error.status);
			if (isFinal) return listener.onState("refused", error);
		} finally {
			clearTimeout(silence);
			signal.removeEventListener("abort", stop);
		}
		const pauseMs = Math.min(1000 * 2 ** failures, longestPauseMs);
		await pause(failures === 0 ? 1000 : pauseMs, signal);
	}
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const timer = setTimeout(resolve, ms);
		signal.addEventListener("abort", () => {
			clearTimeout(timer);
			resolve();
		});
	});
}
