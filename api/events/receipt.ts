import { type Source, sourceKind } from "../../crds/generated/types.ts";
import { maxSourcesAsked } from "../../packages/contracts/stored-event.ts";
import { requireRight } from "../caller/account.ts";
import type { ApiRequest, Handler } from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";
import { readPages } from "../resources/page.ts";
import { eventIdOf, findEvent, foundEventView, searchedText } from "./event.ts";
import { readLoads } from "./loads.ts";
import { type EventsPlace, placeOf } from "./sources.ts";

/** `GET /v1/events/{event_id}`: where an event of the account is, from its receipt to the tables. */
export const getReceipt: Handler = async (request) => {
	const { params } = request;
	const id = eventIdOf(params.event_id!);
	await requireRight(request, {
		verb: "get",
		resource: "sources",
		subresource: "events",
	});
	const { account } = request;
	const sources = await readSources(request);
	const { found, searched } = await search(request, sources, id);
	if (!found?.event)
		throw new RequestError(
			"NotFound",
			sources.length === 0
				? `There is no event "${id}" in account "${account}": it has no sources.`
				: `There is no event "${id}" in account "${account}" (${sources.length} ${sources.length === 1 ? "source" : "sources"}). ${searchedText(searched)}`,
		);
	const { headers: _, ...event } = found.event;
	const { name } = found;
	const [loads] = (await readLoads(request, name, [event])) ?? [];
	return { ...foundEventView(name, event, false), ...(loads && { loads }) };
};

/** The account's Sources, and where their events are. */
async function readSources({ client, account: namespace }: ApiRequest) {
	const sources: { name: string; place: EventsPlace | undefined }[] = [];
	for await (const page of readPages<Source>({
		client,
		kind: sourceKind,
		namespace,
	}))
		for (const source of page)
			sources.push({ name: source.metadata.name, place: placeOf(source) });
	return sources;
}

async function search(
	request: ApiRequest,
	sources: Awaited<ReturnType<typeof readSources>>,
	id: string,
) {
	const places = sources.flatMap(({ name, place }) =>
		(place?.shards ?? []).map((shard) => ({ name, ...place!, shard })),
	);
	const questions = Map.groupBy(places, ({ shard }) => shard)
		.entries()
		.flatMap(([shard, ofShard]) =>
			chunks(ofShard, maxSourcesAsked).map((some) => ({
				shard,
				question: {
					account: request.account,
					sourceKeys: some.map(({ sourceKey }) => sourceKey),
					id,
					keySeconds: Math.max(...some.map(({ keySeconds }) => keySeconds)),
				},
			})),
		);
	const answer = await findEvent(request, [...questions]);
	const event = answer?.event;
	const place =
		event && places.find(({ sourceKey }) => sourceKey === event.sourceKey);
	return {
		...(place && { found: { name: place.name, event } }),
		searched: answer?.searched,
	};
}

function chunks<T>(items: readonly T[], size: number): T[][] {
	return Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
		items.slice(n * size, (n + 1) * size),
	);
}
