import type { NatsConnection } from "@nats-io/transport-node";
import { type Pipeline, pipelineKind } from "../../crds/generated/types.ts";
import {
	type AddedLedger,
	type CountsAnswer,
	type CountsRequest,
	type SourceLedger,
	sumOfLedgers,
} from "../../packages/contracts/ledger.ts";
import { countsSubject } from "../../packages/contracts/nats.ts";
import { retainedDays } from "../../packages/contracts/retention.ts";
import { addDays, utcDate } from "../../packages/contracts/utc-date.ts";
import { unless } from "../../packages/kube/client/client.ts";
import type { ApiRequest, ArchiveClient, Handler } from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";
import { readPages } from "../resources/page.ts";
import { askAnyArchive } from "./archive-question.ts";
import { loadOf } from "./loads.ts";
import { placeOf, requireSource } from "./sources.ts";

const timeoutMs = 5_000;

/** What archive counted of a Source. */
export interface DayCounts {
	ledger: SourceLedger | undefined;
	released: AddedLedger | undefined;
}

/** `GET /v1/sources/{name}/days`: what came on each of the last 31 dates, and which Pipelines have loaded it. */
export const listSourceDays: Handler = async (request) => {
	const { server, account } = request;
	const place = placeOf(await requireSource(request, request.params.name!));
	const [counts, pipelines] = await Promise.all([
		place &&
			server.archive
				.readCounts({
					account,
					sourceKey: place.sourceKey,
					shards: place.shards,
				})
				.catch((error: Error) => {
					server.apiLog.warn({ err: error }, "ledgers can't be read");
					throw new RequestError(
						"Unavailable",
						"The counts can't be read: archive, which has them, doesn't answer. Retry the request.",
						{ headers: { "retry-after": "2" } },
					);
				}),
		pipelinesOf(request, request.params.name!),
	]);
	// A source key names its account's data, and an entry says whose it is.
	const isOwn = counts?.ledger?.account === account;
	return daysOf(
		isOwn ? counts : { ledger: undefined, released: undefined },
		pipelines,
		Date.now(),
	);
};

/** @param pipelines of the Source; undefined if the caller may not see them. */
export function daysOf(
	{ ledger, released }: DayCounts,
	pipelines: readonly Pipeline[] | undefined,
	nowMs: number,
) {
	const today = utcDate(nowMs);
	const items = Array.from({ length: retainedDays + 1 }, (_, days) => {
		const date = addDays(today, -days);
		const archived = ledger?.archived[date] ?? 0;
		const held = ledger?.quarantined?.[date] ?? 0;
		const { events = 0, imported = 0 } = released?.released[date] ?? {};
		return {
			date,
			received: archived + held,
			stored: archived + events,
			quarantined: held - events,
			imported,
			...(pipelines && {
				loads: ledger ? loadsOf(date, ledger, pipelines) : [],
			}),
		};
	});
	return {
		items,
		...(ledger && {
			lastEventTime: ledger.lastEventTime,
			archivedThrough: ledger.archivedThrough,
		}),
	};
}

/** Whether each Pipeline's table has all that came on a date. */
function loadsOf(
	date: string,
	{ sourceKey, lastEventTime }: SourceLedger,
	pipelines: readonly Pipeline[],
) {
	const ended = `${addDays(date, 1)}T00:00:00.000Z`;
	const storedTime = lastEventTime < ended ? lastEventTime : ended;
	return pipelines.map((pipeline) => {
		const { table, state } = loadOf(
			{
				time: `${date}T00:00:00.000Z`,
				storedTime,
				sourceKey,
				state: "accepted",
			},
			pipeline,
			[],
		);
		return { pipeline: pipeline.metadata.name, table, state };
	});
}

async function pipelinesOf(
	{ client, account: namespace }: ApiRequest,
	source: string,
): Promise<Pipeline[] | undefined> {
	const pages = readPages<Pipeline>({
		client,
		kind: pipelineKind,
		namespace,
		selectors: { fieldSelector: `spec.sourceRef.name=${source}` },
	});
	return (await unless(Array.fromAsync(pages), "Forbidden"))?.flat();
}

/** Asks archive, which reads its bucket. The function that is returned throws if nobody answers. */
export function readCountsFrom(
	connection: () => NatsConnection,
): ArchiveClient["readCounts"] {
	const ask = askAnyArchive<CountsRequest, CountsAnswer>(
		connection,
		countsSubject,
		timeoutMs,
	);
	return async (question) => {
		const said = await ask(question);
		if (!said.ok) throw new Error(said.error.message);
		const { ledgers, released } = said;
		const isDeleted = ledgers.some((one) => "deletedTime" in one);
		return {
			ledger: isDeleted ? undefined : sumOfLedgers(ledgers as SourceLedger[]),
			released,
		};
	};
}
