import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject, ResourceKind } from "../../kube/resource.ts";
import { RequestError } from "../errors.ts";
import type { Question } from "../handler.ts";
import { Turnstile } from "./concurrency-limit.ts";

export const maxPageSize = 1_000;
export const defaultPageSize = 100;
/** A page of 1,000 costs about 10 MB while it is read: memory stays bounded. */
const largePages = new Turnstile(2);

/** A page of a list: `?limit=` objects from `?cursor=` on. Where there is a `cursor`, the next page is asked for with it. */
export async function page<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	namespace: string,
	{ limit, cursor }: Question["query"],
	view: (object: T) => unknown,
	fieldSelector?: string,
) {
	const size = pageSizeOf(limit);
	const read = async () => {
		const { items, metadata } = await client.list<T>(kind, {
			namespace,
			limit: size,
			continue: cursor,
			fieldSelector,
		});
		return {
			items: items.map(view),
			...(metadata.continue && { cursor: metadata.continue }),
		};
	};
	return size > defaultPageSize ? largePages.pass(read) : read();
}

function pageSizeOf(limit = String(defaultPageSize)): number {
	const number = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
	if (number >= 1 && number <= maxPageSize) return number;
	throw new RequestError("InvalidRequest", "limit is not a page's size.", {
		details: [
			{
				path: "limit",
				message: `must be a whole number from 1 to ${maxPageSize}`,
			},
		],
	});
}
