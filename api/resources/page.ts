import { FairLimit } from "../../packages/fair/fair-limit.ts";
import {
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { invalidParameter } from "../http/errors.ts";
import type { ApiRequest } from "../http/endpoint.ts";
import { labelSelector, type Selectors } from "../lists/filters.ts";

export const maxPageSize = 1_000;
export const defaultPageSize = 100;
/** Of those that read all. */
const pageSize = 500;
/** A page of 1,000 needs about 10 MB while it is read. This bounds the memory. */
const largePages = new FairLimit({ atOnce: 2 });

/** Which objects of an account. */
export interface Listed<T extends KubeObject> {
	client: KubeClient;
	kind: ResourceKind<T>;
	namespace: string;
	selectors?: Selectors;
}

/** A page of objects. Unless it is the last, it has the next `cursor`. `total` is there where it costs nothing. */
export interface Page<T> {
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

/** One page of objects as the apiserver has them. */
export async function readPage<T extends KubeObject>(
	{ client, kind, namespace, selectors }: Listed<T>,
	size: number,
	cursor?: string,
): Promise<Page<T>> {
	const read = async () => {
		const { items, metadata } = await client
			.list<T>(kind, {
				namespace,
				limit: size,
				continue: cursor,
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
	return size > defaultPageSize ? largePages.run(namespace, read) : read();
}

/** All objects, a page at a time. */
export async function* readPages<T extends KubeObject>(
	listed: Listed<T>,
): AsyncGenerator<T[]> {
	let next: string | undefined;
	do {
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
