import { FairLimit } from "../../packages/fair/fair-limit.ts";
import {
	AnswerTooLong,
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import {
	ageOf,
	type KubeObject,
	type ResourceKind,
} from "../../packages/kube/resource.ts";
import type { ApiRequest } from "../http/endpoint.ts";
import { invalidParameter, unavailable } from "../http/errors.ts";
import { instantOf, isDnsLabel } from "../http/query.ts";
import type { NewestIndex } from "./newest-index.ts";

export const maxPageSize = 1_000;
export const defaultPageSize = 100;
/** Of those that read all. */
const pageSize = 500;
/** A page of 1,000 needs about 10 MB while it is read. This bounds the memory. */
const largePages = new FairLimit({ atOnce: 2 });
/**
 * Of a page's text, which is in memory several times over while it is answered. A hundred objects that are as large as etcd takes would
 * have 150 MB: a page that is longer has fewer objects.
 */
const maxPageLength = 16 * 1024 ** 2;
/** Of a page that waits for no others. */
const maxSmallLength = 1024 ** 2;

/** Which objects of an account. */
interface Listed<T extends KubeObject> {
	client: KubeClient;
	kind: ResourceKind<T>;
	namespace: string;
	selectors?: Selectors;
	/** Nobody waits for the objects any more once it fires. */
	whenGone?: ApiRequest["whenGone"];
}

/** A page of objects. Unless it is the last, it has the next `cursor`. `total` is there where it costs nothing. */
interface Page<T> {
	items: T[];
	cursor?: string;
	total?: number;
}

/** One page of a list in the order of names: at most `?limit=` objects, from `?cursor=` on. */
export async function page<T extends KubeObject>(
	listed: Listed<T>,
	{ limit, cursor }: ApiRequest["query"],
	view: (object: T) => object,
): Promise<Page<object>> {
	const { items, ...rest } = await readPage(listed, sizeOf(limit), cursor);
	return { ...rest, items: items.map(view) };
}

/** One page of objects as the apiserver has them: fewer than `size`, and a cursor, if so many are too large for one page. */
export async function readPage<T extends KubeObject>(
	{ client, kind, namespace, selectors }: Listed<T>,
	size: number,
	cursor?: string,
): Promise<Page<T>> {
	const read = async (limit: number, maxLength: number | undefined) => {
		const { items, metadata } = await client
			.list<T>(kind, {
				...{ namespace, limit, continue: cursor, maxLength },
				...selectors,
			})
			.catch((error) => {
				if (hasReason(error, "BadRequest"))
					throw refusedBy(error, cursor, selectors);
				throw error;
			});
		const { continue: next, remainingItemCount } = metadata;
		// The apiserver counts what is left only if nothing is selected.
		const left = next ? remainingItemCount : 0;
		return {
			items,
			...(next && { cursor: next }),
			...(cursor === undefined &&
				left !== undefined && { total: items.length + left }),
		};
	};
	const unlessTooLong = (limit: number, maxLength: number) =>
		read(limit, limit > 1 ? maxLength : undefined).catch((error) => {
			if (!(error instanceof AnswerTooLong)) throw error;
		});
	const small =
		size <= defaultPageSize && (await unlessTooLong(size, maxSmallLength));
	return (
		small ||
		largePages.run(namespace, async () => {
			for (let limit = size; ; limit = Math.ceil(limit / 4)) {
				const found = await unlessTooLong(limit, maxPageLength);
				if (found) return found;
			}
		})
	);
}

/** All objects, a page at a time. Throws a 503 once nobody waits for them. */
export async function* readPages<T extends KubeObject>(
	listed: Listed<T>,
): AsyncGenerator<T[]> {
	const gone = listed.whenGone?.();
	let next: string | undefined;
	do {
		if (gone?.aborted) throw unavailable();
		const { items, cursor } = await readPage(listed, pageSize, next);
		yield items;
		next = cursor;
	} while (next !== undefined);
}

/** The apiserver's message quotes what the cursor decodes to. */
function refusedBy(
	error: unknown,
	cursor: string | undefined,
	selectors: Selectors = {},
): unknown {
	if (cursor !== undefined)
		return invalidParameter(
			"cursor",
			"must be the cursor of the previous page",
			cursor,
		);
	const labels = selectors.labelSelector;
	return labels === undefined
		? error
		: invalidParameter(
				labelSelector,
				"must be a label selector, such as team=shop,stage!=test",
				labels,
			);
}

export function sizeOf(limit = String(defaultPageSize)): number {
	const number = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
	if (number >= 1 && number <= maxPageSize) return number;
	throw invalidParameter(
		"limit",
		`must be between 1 and ${maxPageSize}`,
		limit,
	);
}

/** A query parameter that limits a list to the objects with this value in a field. */
export interface ListFilter {
	/** One of the CRD's `selectableFields`. */
	field: string;
	/** The allowed values; undefined for a filter by name. */
	values?: readonly string[];
}

interface Selectors {
	fieldSelector?: string;
	labelSelector?: string;
}

/** Limits any list to the objects with these labels. */
export const labelSelector = "labelSelector";

/** What the apiserver has to select. Throws a 400 for a value that no object can have. */
export function selectorsOf(
	filters: Record<string, ListFilter>,
	query: ApiRequest["query"],
): Selectors {
	const fields = Object.entries(filters).flatMap(([name, filter]) => {
		const value = query[name];
		if (value === undefined) return [];
		requireValue(name, filter, value);
		return [`${filter.field}=${value}`];
	});
	const labels = query[labelSelector];
	return {
		...(fields.length > 0 && { fieldSelector: fields.join(",") }),
		...(labels !== undefined && { labelSelector: labels }),
	};
}

/** The value becomes part of a selector, so nothing else may pass. */
function requireValue(
	name: string,
	{ values }: ListFilter,
	value: string,
): void {
	if (values ? values.includes(value) : isDnsLabel(value)) return;
	const problem = values
		? `must be one of ${values.join(", ")}`
		: `must be the name of a ${name}`;
	throw invalidParameter(name, problem, value);
}

/** More are not read and sorted for each page: an index has their order. */
const newestBound = maxPageSize;
/** Those that read all hold up to {@link maxPageLength} each for as long as that takes. */
const scans = new FairLimit({ atOnce: 4, atOncePerOwner: 2 });

/** One page of a list, newest first. @param index Of lists that are too long to read for each page. */
export async function newestFirst<T extends KubeObject>(
	listed: Listed<T>,
	query: ApiRequest["query"],
	view: (object: T) => object,
	index: NewestIndex,
): Promise<Page<object>> {
	const size = sizeOf(query.limit);
	const after = ageIn(query.cursor);
	const isOfTime = query.from !== undefined || query.to !== undefined;
	const scan = () =>
		scans.run(listed.namespace, () =>
			newestWithin(listed, query, size, after, view),
		);
	// Nobody but the apiserver selects by labels.
	const ofIndex = async () =>
		query[labelSelector] === undefined
			? indexed(listed, query, { size, after }, index)
			: undefined;
	const isLong = (index.count(anyKind(listed)) ?? 0) > newestBound;
	const found = isLong ? await ofIndex() : undefined;
	if (found) return found;
	if (isOfTime) return scan();
	if (query.cursor !== undefined && after === undefined)
		return page(listed, query, view);
	const all = await readAll(listed);
	if (!all) return (!isLong && (await ofIndex())) || scan();
	const sorted = all.sort((a, b) => (ageOf(a) < ageOf(b) ? 1 : -1));
	const left = sorted.filter(
		(one) => after === undefined || ageOf(one) < after,
	);
	const items = left.slice(0, size);
	return {
		items: items.map(view),
		...(left.length > size && { cursor: cursorAfter(ageOf(items.at(-1)!)) }),
		total: all.length,
	};
}

function anyKind<T extends KubeObject>(listed: Listed<T>) {
	return listed as unknown as Listed<KubeObject>;
}

async function indexed<T extends KubeObject>(
	listed: Listed<T>,
	{ from, to, cursor }: ApiRequest["query"],
	{ size, after }: { size: number; after: string | undefined },
	index: NewestIndex,
): Promise<Page<object> | undefined> {
	if (cursor !== undefined && after === undefined) return undefined;
	const found = await index.page(anyKind(listed), {
		fields: Object.fromEntries(
			(listed.selectors?.fieldSelector ?? "")
				.split(",")
				.filter(Boolean)
				.map((one) => one.split("=") as [string, string]),
		),
		isWithin: within(from, to),
		...{ after, size, maxLength: maxPageLength },
	});
	if (!found) return undefined;
	const { last, ...rest } = found;
	return { ...rest, ...(last !== undefined && { cursor: cursorAfter(last) }) };
}

/** Whether an instant is of the time. Throws a 400 for what is none. */
function within(
	from = "0001-01-01",
	to = "9999-12-31",
): (instant: string) => boolean {
	const [first, last] = [instantOf("from", from), instantOf("to", to)];
	return (instant) => first <= instant && instant <= last;
}

/** Reads all, since the apiserver selects no time, and holds no more than what it answers and the page that it is at. */
async function newestWithin<T extends KubeObject>(
	listed: Listed<T>,
	{ from, to, cursor }: ApiRequest["query"],
	size: number,
	after: string | undefined,
	view: (object: T) => object,
): Promise<Page<object>> {
	if (cursor !== undefined && after === undefined)
		throw refusedBy(undefined, cursor);
	const isWithin = within(from, to);
	let found: Seen[] = [];
	let isCut = false;
	let total = 0;
	for await (const items of readPages(listed)) {
		const ofTime = items.filter(({ metadata: { creationTimestamp } }) =>
			isWithin(new Date(creationTimestamp!).toISOString()),
		);
		total += ofTime.length;
		const seen = ofTime
			.filter((one) => after === undefined || ageOf(one) < after)
			.map((one) => seenOf(one, view));
		const sorted = [...found, ...seen].sort((a, b) => (a.age < b.age ? 1 : -1));
		found = sorted.slice(0, Math.min(size, countOfPage(sorted)));
		// What is left out now is older than all that the page will have.
		isCut ||= found.length < sorted.length;
	}
	return {
		items: found.map(({ shown }) => shown),
		...(isCut && { cursor: cursorAfter(found.at(-1)!.age) }),
		total,
	};
}

/** What a page answers of an object, which may be many times as large. */
interface Seen {
	age: string;
	shown: object;
	length: number;
}

function seenOf<T extends KubeObject>(
	object: T,
	view: (object: T) => object,
): Seen {
	const shown = view(object);
	return { age: ageOf(object), shown, length: JSON.stringify(shown).length };
}

/** How many of the first are no more than {@link maxPageLength} together, and one in any case. */
function countOfPage(seen: readonly Seen[]): number {
	let length = 0;
	const beyond = seen.findIndex((one) => {
		length += one.length;
		return length > maxPageLength;
	});
	return beyond < 0 ? seen.length : Math.max(1, beyond);
}

/** All, unless there are too many to sort. Most lists are short, and then need no turn among the large ones. */
async function readAll<T extends KubeObject>(
	listed: Listed<T>,
): Promise<T[] | undefined> {
	const first = await readPage(listed, defaultPageSize);
	if (first.cursor === undefined) return first.items;
	if ((first.total ?? 0) > newestBound) return undefined;
	const { items, cursor } = await readPage(listed, newestBound);
	return cursor === undefined ? items : undefined;
}

/** The apiserver's cursors are base64, without a colon. */
const mark = "newest:";

function cursorAfter(age: string): string {
	return `${mark}${Buffer.from(age).toString("base64url")}`;
}

/** Where a cursor of ours goes on; undefined for the apiserver's, which names its place itself. */
function ageIn(cursor: string | undefined): string | undefined {
	return cursor?.startsWith(mark)
		? Buffer.from(cursor.slice(mark.length), "base64url").toString()
		: undefined;
}
