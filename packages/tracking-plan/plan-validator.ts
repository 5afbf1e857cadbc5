import {
	maxViolations,
	type PlanDocument,
	type PlanPolicy,
	type ValidationRecord,
	type Violation,
} from "../contracts/tracking-plan.ts";
import { type EventBody, eventTypeOf, parseBody } from "./event-body.ts";
import { Fuel, OutOfFuel } from "./metered/fuel.ts";
import { ExactNumbers, isTooLarge } from "./metered/numbers.ts";
import { PlanTools } from "./metered/tools.ts";
import { programOf } from "./program.ts";
import { PropertyWalk } from "./property-walk.ts";
import { countMembers, repeatedMembers } from "./repeated-members.ts";
import { eventName, quickName, schemasOf } from "./schemas.ts";
import { planVersion } from "./version.ts";
import {
	cut,
	meaningfulErrors,
	placeOf,
	type SchemaError,
	unplannedProperty,
	wordsOf,
} from "./violations.ts";

export type ValidationOutcome = "Accept" | "Quarantine" | "Reject";

interface Validated {
	outcome: ValidationOutcome;
	record: ValidationRecord;
}

/** Validates events by one version of a plan. It runs the plan's code, so it belongs in a thread of its own. */
export class PlanValidator {
	readonly #document: PlanDocument;
	readonly #version: string;
	readonly #fuel = new Fuel();
	readonly #validators: Record<string, Validator> = Object.create(null);
	readonly #types: Map<string, string>;
	readonly #tools: PlanTools;
	readonly #walk: PropertyWalk;

	/**
	 * @param code What compilePlan made of the document.
	 * @param cache Of the code, if there is one.
	 */
	constructor(document: PlanDocument, code: string, cache?: Uint8Array) {
		this.#document = document;
		this.#version = planVersion(document);
		this.#types = new Map(
			document.events.map(({ type }, index) => [type, eventName(index)]),
		);
		this.#tools = new PlanTools(this.#fuel);
		programOf(code, cache)(this.#validators, this.#tools, this.#fuel);
		const schemas = schemasOf(document);
		this.#walk = new PropertyWalk(schemas, this.#tools, this.#fuel);
	}

	/** Validates a JSON text, which must be valid. One of more values than an event may have is too complex, and isn't parsed. */
	validateText(json: Uint8Array, header: string | undefined): Validated {
		const body = parseBody(json);
		if (body) return this.#validateBody(body, header);
		const { eventType, onUnplannedEvent } = this.#document;
		const type =
			"bodyPointer" in eventType
				? undefined
				: eventTypeOf(eventType, nothing, header);
		const found = new Findings();
		found.add(
			strictest(this.#whenTooComplex(), onUnplannedEvent),
			{ kind: "TooComplex", path: "" },
			() => "has too many values to validate",
		);
		return this.#result(type, found);
	}

	/** Validates a value of JSON.parse. */
	validate(value: unknown, header: string | undefined): Validated {
		return this.#validateBody({ ...nothing, value }, header);
	}

	/** @param header Value of the header that eventType names. */
	#validateBody(event: EventBody, header: string | undefined): Validated {
		const { eventType, onViolation, onUnplannedEvent } = this.#document;
		const { value: body, numbers } = event;
		this.#tools.numbers = numbers;
		const type = eventTypeOf(eventType, event, header);
		const name = type === undefined ? undefined : this.#types.get(type);
		const found = new Findings();
		if (name === undefined)
			found.add(
				onUnplannedEvent,
				{
					kind: "UnplannedEvent",
					path: "bodyPointer" in eventType ? eventType.bodyPointer : "",
				},
				() => unplannedEvent(type),
			);
		this.#fuel.left = maxSteps;
		try {
			const members = countedMembers(body);
			if (onViolation !== "Allow" && countMembers(event.text) > members)
				this.#findRepeated(event, found);
			if (numbers.hasTooLarge) this.#findTooLarge(body, found);
			if (onViolation !== "Allow") this.#validate(body, name, found);
			if (name !== undefined) this.#findUnplanned(body, name, found);
		} catch (error) {
			if (!(error instanceof OutOfFuel || error instanceof RangeError))
				throw error;
			found.add(
				this.#whenTooComplex(),
				{ kind: "TooComplex", path: "" },
				() => "takes too many steps to validate",
			);
		}
		return this.#result(type, found);
	}

	#result(type: string | undefined, found: Findings): Validated {
		return {
			outcome: found.outcome,
			record: {
				plan: this.#document.plan,
				version: this.#version,
				...(type !== undefined && { type: cut(type) }),
				...found.recorded(),
			},
		};
	}

	#validate(body: unknown, name: string | undefined, found: Findings): void {
		for (const each of ["common", name]) {
			if (each === undefined) continue;
			const isValid = this.#validators[quickName(each)];
			const validate = this.#validators[each];
			if (!isValid || !validate || isValid(body) || validate(body)) continue;
			for (const error of meaningfulErrors(validate.errors ?? [])) {
				const place = placeOf(error);
				this.#fuel.burn(1 + (place.path.length >> 4));
				found.add(this.#document.onViolation, place, () => wordsOf(error));
			}
			validate.errors = null;
		}
	}

	/** Programs differ in which of them they read, so what the plan says of one of them says little. */
	#findRepeated({ text }: EventBody, found: Findings): void {
		for (const path of repeatedMembers(text, this.#fuel))
			found.add(
				this.#document.onViolation,
				{ kind: "DuplicateMember", path },
				() => "stands more than once in its object",
			);
	}

	/** Nobody counts with these: such a number is of the type, and neither within bounds nor out of them. */
	#findTooLarge(value: unknown, found: Findings, path = ""): void {
		this.#fuel.burn(1);
		if (typeof value === "number") {
			const text = this.#tools.numbers.textOf(value);
			if (text !== undefined && isTooLarge(text))
				found.add(
					this.#document.onViolation,
					{ kind: "NumberTooLarge", path },
					() => tooLarge,
				);
		} else if (typeof value === "object" && value !== null)
			for (const key of this.#tools.keys(value)) {
				const inside = (value as Record<string, unknown>)[key];
				if (typeof inside === "number" || typeof inside === "object")
					this.#findTooLarge(
						inside,
						found,
						`${path}/${this.#tools.escape(key)}`,
					);
			}
	}

	#findUnplanned(body: unknown, name: string, found: Findings): void {
		const policy = this.#document.onUnplannedProperty;
		if (policy === "Allow") return;
		this.#walk.find(name, body, (path) => {
			if (policy === "Omit") found.omit(path);
			found.add(
				policy === "Omit" ? "Annotate" : policy,
				{ kind: "UnplannedProperty", path },
				() => unplannedProperty,
			);
		});
	}

	/** What an event that can't be validated might be, at its worst; one that would need properties left out can't be loaded. */
	#whenTooComplex(): PlanPolicy {
		const { onViolation, onUnplannedProperty } = this.#document;
		return strictest(
			onViolation,
			onUnplannedProperty === "Omit" ? "Quarantine" : onUnplannedProperty,
		);
	}
}

const nothing: EventBody = {
	value: undefined,
	numbers: new ExactNumbers(),
	text: "",
};

const tooLarge = "has more than 400 digits, or an exponent beyond 400";

/** About a tenth of a second at most; an event of a megabyte that is as planned takes less than a fifth of them. */
const maxSteps = 1_000_000;

type Validator = ((body: unknown) => boolean) & {
	errors: SchemaError[] | null;
};

/** What is recorded about one event. */
class Findings {
	#policy: PlanPolicy = "Allow";
	readonly #violations: Violation[] = [];
	/** A property that a schema forbids isn't told twice. */
	readonly #unplanned = new Set<string>();
	readonly #omitted: string[] = [];
	#omittedLength = 0;
	#more = 0;

	add(
		policy: PlanPolicy,
		{ kind, path }: Omit<Violation, "message">,
		words: () => string,
	): void {
		if (policy === "Allow") return;
		this.#policy = strictest(this.#policy, policy);
		if (kind === "UnplannedProperty") {
			if (this.#unplanned.has(path)) return;
			this.#unplanned.add(path);
		}
		if (this.#violations.length < maxViolations)
			this.#violations.push({ kind, path: cut(path), message: cut(words()) });
		else if (kind === "TooComplex") {
			// It says that there may be more than anybody has found.
			this.#violations.pop();
			this.#violations.unshift({ kind, path, message: words() });
			this.#more++;
		} else this.#more++;
	}

	/** @throws OutOfFuel if the frame has no room for it. */
	omit(pointer: string): void {
		this.#omitted.push(pointer);
		this.#omittedLength += JSON.stringify(pointer).length;
		if (this.#omittedLength > maxOmittedLength) throw new OutOfFuel();
	}

	get outcome(): ValidationOutcome {
		return this.#policy === "Quarantine" || this.#policy === "Reject"
			? this.#policy
			: "Accept";
	}

	recorded(): Pick<ValidationRecord, "violations" | "more" | "omit"> {
		return {
			...(this.#violations.length > 0 && { violations: this.#violations }),
			...(this.#more > 0 && { more: this.#more }),
			...(this.#omitted.length > 0 &&
				this.#omittedLength <= maxOmittedLength && { omit: this.#omitted }),
		};
	}
}

/** The frame's field has room for 65,535 bytes; a character takes up to three. */
const maxOmittedLength = 12_000;

function strictest(one: PlanPolicy, other: PlanPolicy): PlanPolicy {
	return policies.indexOf(one) > policies.indexOf(other) ? one : other;
}

const policies: PlanPolicy[] = ["Allow", "Annotate", "Quarantine", "Reject"];

function unplannedEvent(type: string | undefined): string {
	return type === undefined
		? "has no type"
		: `is of the type ${JSON.stringify(cut(type, 100))}, which is not in the plan`;
}

/**
 * How many members the body's objects have. No schema meets the end of the stack, which comes sooner here and later there.
 * @throws RangeError
 */
function countedMembers(body: unknown): number {
	let members = 0;
	let level = [body];
	for (let depth = 0; level.length > 0; depth++) {
		if (depth > maxDepth) throw new RangeError("too deep");
		const next: unknown[] = [];
		for (const value of level) {
			if (typeof value !== "object" || value === null) continue;
			const children = Object.values(value);
			if (!Array.isArray(value)) members += children.length;
			for (const child of children)
				if (typeof child === "object" && child !== null) next.push(child);
		}
		level = next;
	}
	return members;
}

const maxDepth = 200;
