import { parameterOf } from "../../packages/contracts/sender/captured-field.ts";
import type {
	FoundEvent,
	StoredEvent,
} from "../../packages/contracts/stored-event.ts";
import type { Violation } from "../../packages/contracts/tracking-plan.ts";
import type { JsonObject } from "../http/endpoint.ts";

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
