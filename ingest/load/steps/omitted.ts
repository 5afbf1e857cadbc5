import type { ValidationRecord } from "../../../packages/contracts/tracking-plan.ts";
import { pointerParts } from "../../../packages/json/json-pointer.ts";
import { endOfString } from "../../../packages/json/json-reader.ts";
import { defineTypes, typeOfEvent } from "./filtered.ts";
import type { DateStep, DateWords } from "./step.ts";

/** No header's name: the type of an event whose body lacks what a tracking plan omits, as the body had it. */
export const sentType = ":event-type";

/** In a text of JSON each quotation mark has a backslash, so this is the field's name: see packages/contracts/tracking-plan.ts. */
const where = `contains(violations, '"omit":')`;

/**
 * Leaves out of bodies what the tracking plan omits. The objects in the bucket keep it. Where events' types have tables, such events keep
 * theirs among their headers: a body may lose its type.
 */
export function omitted({ input }: DateWords): DateStep {
	const place = input.eventTypes?.place;
	const by = {
		body: "without_omitted(body, violations)",
		...(place && {
			headers: `with_sent_type(coalesce(headers, ''), coalesce(${typeOfEvent(place)}, ''))`,
		}),
	};
	return {
		leavesOut: 0,
		on: () => ({
			replace: { where, by },
			define(session) {
				session.define("without_omitted", withoutOmitted);
				if (!place) return;
				session.define("with_sent_type", withSentType);
				defineTypes(session);
			},
		}),
	};
}

function withSentType(headers: string, type: string): string {
	return JSON.stringify({ ...JSON.parse(headers || "{}"), [sentType]: type });
}

function withoutOmitted(body: string, violations: string): string {
	const { omit = [] }: Partial<ValidationRecord> = JSON.parse(violations);
	return withoutProperties(body, omit);
}

/**
 * A JSON text without the properties that these JSON Pointers (RFC 6901 §4) name. The rest stays as it is, character by
 * character. Of members with one name all go. A pointer to anything but an object's member names nothing.
 * @param json valid JSON.
 */
export function withoutProperties(
	json: string,
	pointers: readonly string[],
): string {
	return new Cutter(json, tree(pointers)).text();
}

/** The members of an object, or elements of an array, that pointers go through or name. */
class Parts extends Map<string, Parts> {
	/** Whether a pointer ends here. */
	isNamed = false;
}

function tree(pointers: readonly string[]): Parts {
	const root = new Parts();
	for (const pointer of pointers) {
		let parts = root;
		for (const name of pointerParts(pointer)) {
			let next = parts.get(name);
			if (!next) {
				next = new Parts();
				parts.set(name, next);
			}
			parts = next;
		}
		parts.isNamed = true;
	}
	return root;
}

/** An open object or array that a pointer goes through. */
interface Level {
	parts: Parts;
	isArray: boolean;
	index: number;
	/** Where the member begins. */
	from: number;
	/** Whether a string is a member's name. */
	expectsName: boolean;
	/** Whether a pointer names the member. */
	isCut: boolean;
	/** Where the latest member ends that stays; negative before there is one. */
	keptTo: number;
}

/** Without recursion, since senders choose how deep a body is. */
class Cutter {
	readonly #json: string;
	readonly #path: Level[] = [];
	readonly #cuts: [from: number, to: number][] = [];
	/** Of the value that comes next; undefined if no pointer goes through it. */
	#parts: Parts | undefined;

	constructor(json: string, root: Parts) {
		this.#json = json;
		this.#parts = root;
	}

	text(): string {
		for (let at = 0; at < this.#json.length; ) at = this.#visit(at);
		let text = "";
		let at = 0;
		for (const [from, to] of this.#cuts.sort(([a], [b]) => a - b)) {
			text += this.#json.slice(at, Math.max(at, from));
			at = Math.max(at, to);
		}
		return text + this.#json.slice(at);
	}

	/** Visits what begins here; returns where to go on. */
	#visit(at: number): number {
		const level = this.#path.at(-1);
		switch (this.#json[at]) {
			case '"':
				return this.#string(at, level);
			case "{":
			case "[":
				return this.#open(at);
			case ",":
				this.#endMember(at, level!);
				level!.index++;
				this.#beginMember(at + 1, level!);
				return at + 1;
			case "}":
			case "]":
				this.#endMember(at, level!);
				this.#path.pop();
				return at + 1;
			default:
				return at + 1;
		}
	}

	#string(at: number, level: Level | undefined): number {
		const end = stringEnd(this.#json, at);
		if (level?.expectsName) {
			level.expectsName = false;
			const name: string = JSON.parse(this.#json.slice(at, end));
			this.#parts = level.parts.get(name);
			level.isCut = this.#parts?.isNamed === true;
		}
		return end;
	}

	#open(at: number): number {
		const parts = this.#parts;
		const isOnPath = parts && parts.size > 0 && !this.#path.at(-1)?.isCut;
		if (!isOnPath) return endOfContainer(this.#json, at);
		const isArray = this.#json[at] === "[";
		const level: Level = {
			parts,
			isArray,
			index: 0,
			from: at + 1,
			expectsName: !isArray,
			isCut: false,
			keptTo: -1,
		};
		this.#path.push(level);
		this.#beginMember(at + 1, level);
		return at + 1;
	}

	#beginMember(at: number, level: Level): void {
		level.from = at;
		level.expectsName = !level.isArray;
		this.#parts = level.isArray
			? level.parts.get(String(level.index))
			: undefined;
	}

	/** @param at Where the comma or the closing brace is. */
	#endMember(at: number, level: Level): void {
		const isLast = this.#json[at] !== ",";
		if (!level.isCut) level.keptTo = at;
		// With the last member goes the comma before it.
		else if (isLast)
			this.#cuts.push([level.keptTo < 0 ? level.from : level.keptTo, at]);
		else this.#cuts.push([level.from, at + 1]);
		level.isCut = false;
	}
}

function stringEnd(json: string, from: number): number {
	const end = endOfString(json, from);
	return end < 0 ? json.length : end;
}

function endOfContainer(json: string, from: number): number {
	let depth = 0;
	for (let at = from; at < json.length; ) {
		const character = json[at];
		if (character === '"') {
			at = stringEnd(json, at);
			continue;
		}
		at++;
		if (character === "{" || character === "[") depth++;
		else if ((character === "}" || character === "]") && --depth === 0)
			return at;
	}
	return json.length;
}
