import { useRef, useState } from "preact/hooks";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { namespace } from "../router/navigation.ts";
import type { RunView } from "./calendar.ts";
import type { RunFilter } from "./run-list.ts";

/** What was read of one list. */
interface RunPages {
	key: string;
	pages: number;
	runs: RunView[];
	/** Absent at the end, and before the first page. */
	cursor?: string | undefined;
	/** Of the list, if the API knows it. */
	total?: number | undefined;
}

/** The Runs of a filter, one page at first and further ones when `more` asks for them. What was read isn't read again. */
export function useRunPages({ pipeline, status }: RunFilter, pageSize: number) {
	const key = JSON.stringify([namespace.value, pipeline, status, pageSize]);
	const read = useRef(noneOf(key));
	const [wanted, setWanted] = useState({ key, pages: 1 });
	const pages = wanted.key === key ? wanted.pages : 1;
	const pageAfter = async (before: RunPages, signal: AbortSignal) => {
		const { cursor } = before;
		const query = { pipeline, status, limit: pageSize, cursor };
		try {
			const page = await api.get<Omit<RunPages, "runs"> & { items: RunView[] }>(
				"runs",
				{ query, signal },
			);
			return {
				...{ key, pages: before.pages + 1, cursor: page.cursor },
				runs: [...before.runs, ...page.items],
				total: before.total ?? page.total,
			};
		} catch (error) {
			// Whoever tries again begins anew.
			if (error instanceof ApiProblem && error.code === "CursorExpired")
				read.current = noneOf(key);
			throw error;
		}
	};
	const { answer, problem, isLoading, retry } = useLoaded(
		async (signal) => {
			if (read.current.key !== key) read.current = noneOf(key);
			while (read.current.pages < pages && !isAtEnd(read.current)) {
				const next = await pageAfter(read.current, signal);
				signal.throwIfAborted();
				read.current = next;
			}
			return read.current;
		},
		[key, pages],
	);
	const {
		runs,
		cursor,
		total,
		pages: shown,
	} = answer?.key === key ? answer : noneOf(key);
	return {
		...{ runs, total, problem, isLoading, retry },
		/** Whether the list goes on. */
		hasMore: cursor !== undefined,
		more: (count = 1) => setWanted({ key, pages: shown + count }),
	};
}

function noneOf(key: string): RunPages {
	return { key, pages: 0, runs: [] };
}

function isAtEnd({ pages, cursor }: RunPages): boolean {
	return pages > 0 && cursor === undefined;
}
