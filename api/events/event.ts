import type { Source } from "../../crds/generated/types.ts";
import { parameterOf } from "../../packages/contracts/route.ts";
import type {
	EventAnswer,
	EventsRequest,
	FoundEvent,
	StoredEvent,
} from "../../packages/contracts/stored-event.ts";
import type { Violation } from "../../packages/contracts/tracking-plan.ts";
import type { ApiRequest, Handler, JsonObject } from "../http/endpoint.ts";
import { invalidParameter, RequestError } from "../http/errors.ts";
import { flagOf } from "../http/query.ts";
import { placeOf, requireSource } from "./sources.ts";

/** `GET /v1/sources/{name}/events/{event_id}`. With `?body=true`, also the body, the captured headers and query parameters. */
export const getSourceEvent: Handler = async (request) => {
	const { params, query } = request;
	const name = params.name!;
	const withBody = flagOf("body", query.body);
	const id = eventIdOf(params.event_id!);
	const source = await requireSource(request, name, withBody);
	const found = await requireEvent(request, source, id, withBody);
	const { headers, ...event } = found.event;
	return {
		...foundEventView(name, event, withBody),
		...(headers && capturedView(headers)),
		...(found.body && { body: found.body.toString() }),
	};
};

/** An event of a Source whose events the caller may see; with its body only if the caller may see bodies. Throws a 404 or a 503. */
export async function requireEvent(
	request: Pick<ApiRequest, "account" | "server">,
	source: Source,
	id: string,
	withBody: boolean,
): Promise<{ event: FoundEvent; body?: Buffer }> {
	const { account } = request;
	const place = placeOf(source);
	const found =
		place &&
		(await findEvent(
			request,
			place.shards.map((shard) => ({
				shard,
				question: {
					account,
					sourceKeys: [place.sourceKey],
					id,
					body: withBody,
					keySeconds: place.keySeconds,
				},
			})),
		));
	const { event, body } = found ?? {};
	if (event) return { event, ...(body && { body }) };
	throw new RequestError(
		"NotFound",
		`There is no event "${id}" of the source "${source.metadata.name}" in account "${account}". ${searchedText(found?.searched)}`,
	);
}

export interface EventSearchAnswer extends Extract<EventAnswer, { ok: true }> {
	body?: Buffer;
}

/** What to ask the archive of a shard for one event. */
export interface EventQuestion {
	shard: number;
	question: EventsRequest & { id: string };
}

/**
 * Asks the shards' archives for one event, one after the other until it is found. A shard whose archive is away, or that isn't
 * there, hides no event of another shard. Throws a 503 if such a one may have the event.
 */
export async function findEvent(
	{ server }: Pick<ApiRequest, "server">,
	questions: readonly EventQuestion[],
): Promise<EventSearchAnswer | undefined> {
	let found: EventSearchAnswer | undefined;
	let away: RequestError | undefined;
	for (const { shard, question } of questions)
		try {
			const { answer, body } = await server.archive.askEvents(shard, question);
			const said = answer as EventAnswer & { ok: true };
			const isCut = found?.searched.isCut ?? said.searched.isCut;
			const searched = { ...said.searched, ...(isCut && { isCut }) };
			found = { ...said, searched, ...(body && { body }) };
			if (found.event) return found;
		} catch (error) {
			if (!(error instanceof RequestError && error.code === "Unavailable"))
				throw error;
			away ??= error;
		}
	if (away) throw away;
	return found;
}

/** Throws a 400 for what is no event ID of Tidemill's. */
export function eventIdOf(text: string): string {
	const id = text.toLowerCase();
	if (
		/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(
			id,
		)
	)
		return id;
	throw invalidParameter(
		"event_id",
		"must be an event ID as the answer to a webhook has it, a UUID of version 7",
		text,
	);
}

/** What a search without a result has looked at. */
export function searchedText(
	searched: EventSearchAnswer["searched"] | undefined,
): string {
	if (!searched) return "The source has no events yet.";
	const { from, to, isCut } = searched;
	const dates = from === to ? from : `${from} to ${to}`;
	return `The buffer and the bucket were searched for ${dates}, which follows from the ID. ${
		isCut
			? "The search among imported events, or for an event of a sender's key, took too long and ended before that: list the source's events of that time."
			: "Events older than the retention are gone."
	}`;
}

/** An event in a list. */
export function eventView({
	eventID,
	time,
	type,
	kind,
	bytes,
	state,
	violations,
}: StoredEvent): JsonObject {
	return {
		eventId: eventID,
		time,
		...(type !== undefined && { type }),
		kind,
		bytes,
		state,
		...(violations && { violations }),
	};
}

/**
 * One event: what is known of it, and where it is.
 * @param withBody whether the caller may see bodies, and asked for this one: paths and messages of violations tell of it.
 */
export function foundEventView(
	source: string,
	{
		violations,
		otherViolations,
		plan,
		planVersion,
		stage,
		frames,
		object,
		storedTime,
		released,
		...head
	}: Omit<FoundEvent, "headers">,
	withBody: boolean,
): JsonObject {
	return {
		...eventView(head),
		source,
		...(plan !== undefined && { trackingPlan: plan, planVersion }),
		...(violations && {
			violations: withBody ? violations : kindsOf(violations),
		}),
		...(withBody && otherViolations !== undefined && { otherViolations }),
		stage,
		...(frames && { frames }),
		...(object !== undefined && { object }),
		storedTime,
		...(released && { released }),
	};
}

/** The captured fields, each kind apart. */
export function capturedView(fields: Record<string, string>): JsonObject {
	const all = Object.entries(fields);
	const headers = all.filter(([name]) => parameterOf(name) === undefined);
	const parameters = all.flatMap(([name, value]) => {
		const parameter = parameterOf(name);
		return parameter === undefined ? [] : [[parameter, value]];
	});
	return {
		...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
		...(parameters.length > 0 && {
			queryParameters: Object.fromEntries(parameters),
		}),
	};
}

/** Each kind once, as lists have it. */
function kindsOf(violations: readonly Violation[]): Pick<Violation, "kind">[] {
	return [...new Set(violations.map(({ kind }) => kind))].map((kind) => ({
		kind,
	}));
}
