import { useEffect, useRef, useState } from "preact/hooks";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import type { Event } from "../generated/types.ts";

/** So many requests at once leave connections for the page's others. */
const atOnce = 3;

/**
 * Reads the bodies of events while `isWanted`, and says what is known so far: by event ID, the text to look through, in lower
 * case. What is away or may not be seen has an empty one. They are forgotten once they aren't wanted, since each may have 4 MB.
 */
export function useBodies(
	source: string,
	ids: readonly string[],
	isWanted: boolean,
): ReadonlyMap<string, string> {
	const bodies = useRef(new Map<string, string>());
	const [, setRead] = useState(0);
	const key = isWanted ? ids.join(" ") : "";
	useEffect(() => {
		if (key === "") {
			bodies.current = new Map();
			return;
		}
		const leaving = new AbortController();
		const missing = key.split(" ").filter((id) => !bodies.current.has(id));
		const readOn = async () => {
			for (let id = missing.shift(); id; id = missing.shift()) {
				const text = await textOf(source, id, leaving.signal);
				if (leaving.signal.aborted) return;
				bodies.current.set(id, text);
				setRead((count) => count + 1);
			}
		};
		for (let i = 0; i < atOnce; i++) void readOn();
		return () => leaving.abort();
	}, [source, key]);
	return bodies.current;
}

async function textOf(
	source: string,
	id: string,
	signal: AbortSignal,
): Promise<string> {
	const path = `sources/${encodeURIComponent(source)}/events/${encodeURIComponent(id)}`;
	try {
		const { body = "" } = await api.get<Event>(path, {
			query: { body: true },
			signal,
		});
		return body.toLowerCase();
	} catch (error) {
		if (error instanceof ApiProblem || signal.aborted) return "";
		throw error;
	}
}
