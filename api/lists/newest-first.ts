import { ageOf, type KubeObject } from "../../packages/kube/resource.ts";
import { RequestError } from "../http/errors.ts";
import type { ApiRequest } from "../http/endpoint.ts";
import {
	defaultPageSize,
	type Listed,
	maxPageSize,
	type Page,
	page,
	readPage,
	sizeOf,
} from "../resources/page.ts";

/** More objects come in the order of their names: the apiserver has no other, and sorting needs all of them. */
export const newestBound = maxPageSize;

/** One page of a list, newest first if there are at most {@link newestBound} objects. */
export async function newestFirst<T extends KubeObject>(
	listed: Listed<T>,
	query: ApiRequest["query"],
	view: (object: T) => object,
): Promise<Page<object>> {
	const size = sizeOf(query.limit);
	const after = ageIn(query.cursor);
	if (query.cursor !== undefined && after === undefined)
		return page(listed, query, view);
	const all = await readAll(listed);
	if (!all && after === undefined) return page(listed, query, view);
	if (!all)
		throw new RequestError(
			"CursorExpired",
			`There are more than ${newestBound} now, so they come by name. List again without the cursor.`,
		);
	const sorted = all.sort((a, b) => (ageOf(a) < ageOf(b) ? 1 : -1));
	const left = sorted.filter(
		(one) => after === undefined || ageOf(one) < after,
	);
	const items = left.slice(0, size);
	return {
		items: items.map(view),
		...(left.length > size && { cursor: cursorAfter(items.at(-1)!) }),
		total: all.length,
	};
}

/** Undefined if there are too many to sort. Most lists are short, and then need no turn among the large ones. */
async function readAll<T extends KubeObject>(
	listed: Listed<T>,
): Promise<T[] | undefined> {
	for (const size of [defaultPageSize, newestBound]) {
		const { items, cursor } = await readPage(listed, size);
		if (cursor === undefined) return items;
	}
	return undefined;
}

/** The apiserver's cursors are base64, without a colon. */
const mark = "newest:";

function cursorAfter(object: KubeObject): string {
	return `${mark}${Buffer.from(ageOf(object)).toString("base64url")}`;
}

/** Where a cursor of ours goes on; undefined for the apiserver's, which names its place itself. */
function ageIn(cursor: string | undefined): string | undefined {
	return cursor?.startsWith(mark)
		? Buffer.from(cursor.slice(mark.length), "base64url").toString()
		: undefined;
}
