import { hasReason, type KubeClient } from "../../kube/client/client.ts";
import type { KubeObject, ResourceKind } from "../../kube/resource.ts";
import { invalidParameter } from "../http/errors.ts";
import type { ApiRequest } from "../http/operation.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";

export const maxPageSize = 1_000;
export const defaultPageSize = 100;
/** A page of 1,000 needs about 10 MB while it is read. This bounds the memory. */
const largePages = new ConcurrencyLimit(2);

/** One page of a list: at most `?limit=` objects, from `?cursor=` on. Unless it is the last, it has the next `cursor`. */
export async function page<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	namespace: string,
	{ limit, cursor }: ApiRequest["query"],
	view: (object: T) => unknown,
	fieldSelector?: string,
) {
	const size = pageSizeOf(limit);
	const read = async () => {
		const { items, metadata } = await client
			.list<T>(kind, {
				namespace,
				limit: size,
				continue: cursor,
				fieldSelector,
			})
			.catch((error) => {
				throw hasReason(error, "BadRequest") && cursor !== undefined
					? invalidParameter(
							"cursor",
							"must be the cursor of the previous page",
							cursor,
						)
					: error;
			});
		return {
			items: items.map(view),
			...(metadata.continue && { cursor: metadata.continue }),
		};
	};
	return size > defaultPageSize ? largePages.run(read) : read();
}

function pageSizeOf(limit = String(defaultPageSize)): number {
	const number = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
	if (number >= 1 && number <= maxPageSize) return number;
	throw invalidParameter(
		"limit",
		`must be between 1 and ${maxPageSize}`,
		limit,
	);
}
