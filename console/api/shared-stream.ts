import type { ServerEvent } from "../../packages/service/event-stream.ts";
import { namespace } from "../router/navigation.ts";
import {
	type ConnectionState,
	followStream,
	type StreamListener,
} from "./event-stream.ts";
import { ApiProblem } from "./problem.ts";
import { session } from "./session.ts";

export interface SharedListener extends StreamListener {
	/** What a tab that comes later must know of what came before. */
	snapshot?(): ServerEvent[];
}

type TabMessage =
	| { type: "hello"; from: string }
	| {
			type: "welcome";
			to: string;
			state: ConnectionState;
			events: ServerEvent[];
	  }
	| { type: "events"; events: ServerEvent[] }
	| { type: "state"; state: ConnectionState; problem?: [number, string] };

/**
 * Follows a stream of the API as {@link followStream} does, once for all tabs of the browser: over HTTP/1.1 a browser opens six
 * connections to a server, so that the seventh tab would wait for ever. The tab that holds the lock reads the stream and notifies
 * the others; when it closes, another gets the lock.
 */
export async function followShared(
	path: string,
	query: Record<string, string | boolean>,
	listener: SharedListener,
	signal: AbortSignal,
): Promise<void> {
	// Only a secure context has locks: https, or this machine.
	if (!navigator.locks) return followStream(path, query, listener, signal);
	const key = JSON.stringify([
		...["tidemill", session.peek()?.user, namespace.peek()],
		...[path, query],
	]);
	const self = crypto.randomUUID();
	const tabs = new BroadcastChannel(key);
	const post = (message: TabMessage) => tabs.postMessage(message);
	let state: ConnectionState = "connecting";
	let isReader = false;
	tabs.onmessage = ({ data }: MessageEvent<TabMessage>) => {
		if (signal.aborted) return;
		if (isReader) {
			if (data.type === "hello")
				post({
					...{ type: "welcome", to: data.from, state },
					events: listener.snapshot?.() ?? [],
				});
		} else if (data.type === "events") listener.onEvents(data.events);
		else if (data.type === "state")
			listener.onState(
				data.state,
				data.problem &&
					new ApiProblem(data.problem[0], "Away", data.problem[1]),
			);
		else if (data.type === "welcome" && data.to === self) {
			listener.onState(data.state);
			listener.onEvents(data.events);
		}
	};
	post({ type: "hello", from: self });
	try {
		await navigator.locks.request(key, { signal }, async () => {
			isReader = true;
			await followStream(
				path,
				query,
				{
					onEvents: (events) => {
						listener.onEvents(events);
						post({ type: "events", events });
					},
					onState: (now, problem) => {
						// It says the same with every piece.
						if (now === state && now === "live") return;
						state = now;
						listener.onState(now, problem);
						post({
							...{ type: "state", state: now },
							...(problem && { problem: [problem.status, problem.message] }),
						});
					},
				},
				signal,
			);
		});
	} catch (error) {
		// The visitor went elsewhere before this tab got the lock.
		if (!signal.aborted) throw error;
	} finally {
		tabs.close();
	}
}
