import { type Source, sourceKind } from "../../crds/generated/types.ts";
import { RequestError } from "./errors.ts";
import type { Handler } from "./handler.ts";
import { sourceView } from "./views.ts";

const maxLimit = 500;

/** `GET /v1/sources`: a page of Sources. Where there is `cursor`, the next page is asked for with it. */
export const listSources: Handler = async ({ client, account }, { query }) => {
	const { items, metadata } = await client.list<Source>(sourceKind, {
		namespace: account,
		limit: limitOf(query.limit),
		continue: query.cursor,
	});
	return {
		items: items.map(sourceView),
		...(metadata.continue && { cursor: metadata.continue }),
	};
};

function limitOf(limit = "100"): number {
	const number = Number(limit);
	if (Number.isInteger(number) && number >= 1 && number <= maxLimit)
		return number;
	throw new RequestError("InvalidRequest", "limit is not a page's size.", {
		details: [
			{
				path: "limit",
				message: `must be a whole number from 1 to ${maxLimit}`,
			},
		],
	});
}
