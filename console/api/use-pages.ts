import { useRef, useState } from "preact/hooks";
import { namespace } from "../router/navigation.ts";
import { ApiProblem } from "./problem.ts";
import { api, type Query } from "./request.ts";
import { useLoaded } from "./use-loaded.ts";

/** What was read of one list. */
interface Pages<Item> {
	key: string;
	pages: number;
	items: Item[];
	/** Absent at the end, and before the first page. */
	cursor?: string | undefined;
	/** Of the list, if the API knows it. */
	total?: number | undefined;
	/** Of a list that takes long: what is later than this time was looked at. */
	reached?: string | undefined;
}

/**
 * The items of a list of the API, one page at first and further ones when `more` asks for them. What was read isn't read again.
 * @param query what selects the items; another one is another list
 * @param round another number reads the list anew
 */
export function usePages<Item>(
	path: string,
	query: Query,
	pageSize: number,
	round = 0,
) {
	const key = JSON.stringify([namespace.value, path, query, pageSize, round]);
	const read = useRef(noneOf<Item>(key));
	const [wanted, setWanted] = useState({ key, pages: 1 });
	const pages = wanted.key === key ? wanted.pages : 1;
	const pageAfter = async (before: Pages<Item>, signal: AbortSignal) => {
		const { cursor } = before;
		try {
			const page = await api.get<Omit<Pages<Item>, "key" | "pages">>(path, {
				query: { ...query, limit: pageSize, cursor },
				signal,
			});
			return {
				...{ key, pages: before.pages + 1, cursor: page.cursor },
				items: [...before.items, ...page.items],
				total: before.total ?? page.total,
				reached: page.reached,
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
	const isRead = answer?.key === key;
	const {
		items,
		cursor,
		total,
		reached,
		pages: shown,
	} = isRead ? answer : noneOf<Item>(key);
	return {
		...{ key, items, total, reached, problem, retry },
		isLoading: isLoading || (!isRead && !problem),
		/** Whether the list goes on. */
		hasMore: cursor !== undefined,
		more: (count = 1) => setWanted({ key, pages: shown + count }),
	};
}

function noneOf<Item>(key: string): Pages<Item> {
	return { key, pages: 0, items: [] };
}

function isAtEnd({ pages, cursor }: Pages<unknown>): boolean {
	return pages > 0 && cursor === undefined;
}
