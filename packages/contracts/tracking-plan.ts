/**
 * What the planes agree on about tracking plans: the document that operator publishes for receive, and the validation record that
 * receive records with each event.
 */

/**
 * What receive needs to validate the events of the Sources that name one TrackingPlan. Operator writes it as JSON to the routes
 * bucket under {@link planKey}, before any route that names its version, and removes it once no route does. A version never
 * changes.
 */
export interface PlanDocument {
	version: 1;
	/** Namespace of the TrackingPlan. */
	account: string;
	/** metadata.name of the TrackingPlan. */
	plan: string;
	/** Header names are in lower case. */
	eventType:
		| { bodyPointer: string }
		| { header: string }
		| { constant: string };
	/** JSON Schema for every event. */
	common?: EventSchema;
	/** The planned types. A type without a schema may look like anything that `common` allows. */
	events: { type: string; schema?: EventSchema }[];
	onUnplannedEvent: PlanPolicy;
	onViolation: PlanPolicy;
	onUnplannedProperty: PlanPolicy | "Omit";
}

export type EventSchema = Record<string, unknown> | boolean;

/** The strictest policy of an event's violations decides: Reject, then Quarantine, Omit, Annotate, Allow. */
export type PlanPolicy = "Allow" | "Annotate" | "Quarantine" | "Reject";

/** What one plan may take in a receiver: its document, the code that is made of it, and what V8 keeps to load that. */
export const maxPlanBytes = 16 * 1024 ** 2;

/** All plans of an account together. A receiver has room for another version of one of them beside these. */
export const maxAccountPlanBytes = 24 * 1024 ** 2;

/** The plan that a route names. */
export interface RoutePlan {
	/** metadata.name of the TrackingPlan. */
	name: string;
	/**
	 * The version that validates: the first 16 hex digits of the SHA-256 of what the plan says, so that an edit of a description
	 * is no new version. Absent while no version of the plan was ever valid: receive answers 503, and nothing is stored
	 * unvalidated.
	 */
	version?: string;
}

/** The plan document's key in the routes bucket. Names have no dots. */
export function planKey(account: string, { name, version }: RoutePlan): string {
	return `${planPrefix}${account}.${name}.${version}`;
}

export function isPlanKey(key: string): boolean {
	return key.startsWith(planPrefix);
}

const planPrefix = "plan.";

/**
 * What a plan said about an event, as JSON in the event's frame, and in the column `violations` of its object. Every event
 * that a plan validated has one, so that it is known which version did.
 */
export interface ValidationRecord {
	plan: string;
	version: string;
	/** Cut to 200 characters, because senders choose it. Absent if the event has none. */
	type?: string;
	/** The first {@link maxViolations}; absent for an event that is as planned. */
	violations?: Violation[];
	/** How many violations there are beside these; absent for none. */
	more?: number;
	/** JSON Pointers (RFC 6901) to the properties that load leaves out of the plan's columns and of `body`. */
	omit?: string[];
}

export interface Violation {
	kind: ViolationKind;
	/** JSON Pointer (RFC 6901) into the body; empty for the whole body. Cut to 200 characters. */
	path: string;
	/** For people: what was expected there. Cut to 200 characters, and never with more of the body than a name. */
	message: string;
}

export type ViolationKind =
	/** The type is not in the plan, or the event has none. */
	| "UnplannedEvent"
	| "UnplannedProperty"
	/** A required property is not there. */
	| "RequiredMissing"
	| "TypeMismatch"
	/** Not one of the values of `enum`, or not that of `const`. */
	| "ValueMismatch"
	/** `format` or `pattern`. */
	| "FormatMismatch"
	/** A number, length or count is out of bounds. */
	| "OutOfRange"
	/** A member stands more than once in its object. The last one counts. */
	| "DuplicateMember"
	/** A number of more than 400 digits, or with an exponent beyond ±400. */
	| "NumberTooLarge"
	/** Any other keyword. */
	| "SchemaMismatch"
	/** Validating the event takes more steps than an event may take. */
	| "TooComplex";

/** How many violations an event records. The frame's field has room for 65,535 bytes; these take at most 16 KiB. */
export const maxViolations = 20;
