import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
	type Source,
	sourceKind,
} from "../../crds/generated/types.ts";
import { maxSourcesAsked } from "../../packages/contracts/stored-event.ts";
import { FairLimit } from "../../packages/fair/fair-limit.ts";
import { hasReason } from "../../packages/kube/client/client.ts";
import { requireRight } from "../caller/access.ts";
import { RequestError } from "../http/errors.ts";
import type { Caller, Handler } from "../http/endpoint.ts";
import { readPage, readPages } from "../resources/page.ts";
import { type Answered, eventIdOf, findEvent, searchedText } from "./event.ts";
import { foundEventView } from "./event-view.ts";
import { type EventLoad, loadOf } from "./loads.ts";
import { type EventsPlace, placeOf } from "./sources.ts";

/** Of a Pipeline. It keeps fewer unless it is told to keep more. */
const mostRuns = 1_000;

/** What an account's receipts read doesn't add up, however many it asks for at once. */
const receipts = new FairLimit({ atOncePerOwner: 1 });

/** `GET /v1/events/{event_id}`: where an event of the account is, from its receipt to the tables. */
export const getReceipt: Handler = async (caller, { params }) => {
	const id = eventIdOf(params.event_id!);
	await requireRight(caller, {
		verb: "get",
		resource: "sources",
		subresource: "events",
	});
	const { account } = caller;
	const sources = await readSources(caller);
	const { found, searched } = await search(caller, sources, id);
	if (!found?.event)
		throw new RequestError(
			"NotFound",
			sources.length === 0
				? `There is no event "${id}" in account "${account}": it has no sources.`
				: `There is no event "${id}" in account "${account}" (${sources.length} ${sources.length === 1 ? "source" : "sources"}). ${searchedText(searched)}`,
		);
	const { headers: _, ...event } = found.event;
	const { name } = found;
	const loads = await receipts.run(account, () =>
		readLoads(caller, name, event),
	);
	return { ...foundEventView(name, event, false), ...(loads && { loads }) };
};

/** The account's Sources, and where their events are. */
async function readSources({ client, account: namespace }: Caller) {
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
	caller: Caller,
	sources: Awaited<ReturnType<typeof readSources>>,
	id: string,
) {
	const places = sources.flatMap(({ name, place }) =>
		(place?.shards ?? []).map((shard) => ({ name, ...place!, shard })),
	);
	let searched: Answered["searched"] | undefined;
	for (const [shard, ofShard] of Map.groupBy(places, (place) => place.shard))
		for (let at = 0; at < ofShard.length; at += maxSourcesAsked) {
			const some = ofShard.slice(at, at + maxSourcesAsked);
			const answer = await findEvent(caller, [shard], {
				account: caller.account,
				sourceKeys: some.map(({ sourceKey }) => sourceKey),
				id,
				keySeconds: Math.max(...some.map(({ keySeconds }) => keySeconds)),
			});
			if (answer) {
				const isCut = searched?.isCut ?? answer.searched.isCut;
				searched = { ...answer.searched, ...(isCut && { isCut }) };
			}
			const event = answer?.event;
			const place =
				event && some.find(({ sourceKey }) => sourceKey === event.sourceKey);
			if (event && place)
				return { found: { name: place.name, event }, searched };
		}
	return { searched };
}

/** Undefined if the caller may not see Pipelines or Runs. */
async function readLoads(
	{ client, account: namespace }: Caller,
	source: string,
	event: Parameters<typeof loadOf>[0],
): Promise<EventLoad[] | undefined> {
	try {
		const loads: EventLoad[] = [];
		const fieldSelector = `spec.sourceRef.name=${source}`;
		// The Runs of one Pipeline at a time: those of all would take too much memory.
		for await (const pipelines of readPages<Pipeline>({
			client,
			kind: pipelineKind,
			namespace,
			selectors: { fieldSelector },
		}))
			for (const pipeline of pipelines) {
				const { items: runs } = await readPage<Run>(
					{
						client,
						kind: runKind,
						namespace,
						selectors: {
							fieldSelector: `spec.pipelineRef.name=${pipeline.metadata.name},status.phase=Succeeded`,
						},
					},
					mostRuns,
				);
				loads.push(loadOf(event, pipeline, runs));
			}
		return loads;
	} catch (error) {
		if (hasReason(error, "Forbidden")) return undefined;
		throw error;
	}
}
