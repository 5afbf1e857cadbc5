/** What the values at one place of many bodies have in common. */
export interface ValueShape {
	/** How many values. */
	count: number;
	/** How many of them are of each type of JSON Schema; a number without fraction is an `integer`. */
	types: Map<JsonType, number>;
	/** The different strings, while they are few. */
	strings: Set<string> | undefined;
	/** What all strings are; undefined if they differ, "" before the first. */
	format: string | undefined;
	/** Of arrays. */
	items?: ValueShape;
	/** Of objects; each counts the objects that have the property. */
	properties?: Map<string, ValueShape>;
	/** There was no room for all properties. */
	isOpen?: true;
	/** Of objects with so many different names that they are data: the values of all. */
	values?: ValueShape;
}

export type JsonType =
	| "null"
	| "boolean"
	| "integer"
	| "number"
	| "string"
	| "array"
	| "object";

export const maxStrings = 10;
const maxStringLength = 40;
/** Of an object; more are data, such as an object with a key for each customer. */
const maxNames = 256;
const maxNameLength = 200;
/** Deeper values are not looked at. */
const maxDepth = 10;

/** How many shapes a draft may still make. */
export interface ShapeBudget {
	shapes: number;
}

export function newShape(): ValueShape {
	return {
		count: 0,
		types: new Map(),
		strings: new Set(),
		format: "",
	};
}

/** Adds a value of JSON.parse's to a shape. */
export function observe(
	shape: ValueShape,
	value: unknown,
	room: ShapeBudget,
	depth = 0,
): void {
	shape.count++;
	const type = typeOf(value);
	shape.types.set(type, (shape.types.get(type) ?? 0) + 1);
	if (type === "string") observeString(shape, value as string);
	// What lies deeper stays open, in the plan, too.
	if (depth >= maxDepth) return;
	if (type === "array") {
		for (const item of value as unknown[]) {
			const items = shape.items ?? grown(room);
			if (!items) return;
			shape.items = items;
			observe(items, item, room, depth + 1);
		}
	} else if (type === "object")
		observeObject(shape, value as object, room, depth);
}

function observeObject(
	shape: ValueShape,
	object: object,
	room: ShapeBudget,
	depth: number,
): void {
	shape.properties ??= new Map();
	for (const [name, value] of Object.entries(object)) {
		if (!shape.values && isData(shape.properties, name)) collapse(shape);
		const inside = shape.values ?? propertyOf(shape.properties, name, room);
		if (inside) observe(inside, value, room, depth + 1);
		else shape.isOpen = true;
	}
}

function isData(properties: Map<string, ValueShape>, name: string): boolean {
	return (
		name.length > maxNameLength ||
		(properties.size >= maxNames && !properties.has(name))
	);
}

/** From now on, names don't count. */
function collapse(shape: ValueShape): void {
	shape.values = newShape();
	for (const each of shape.properties!.values()) merge(shape.values, each);
	shape.properties!.clear();
}

function propertyOf(
	properties: Map<string, ValueShape>,
	name: string,
	room: ShapeBudget,
): ValueShape | undefined {
	const known = properties.get(name);
	if (known) return known;
	const made = grown(room);
	if (made) properties.set(name, made);
	return made;
}

/** Undefined if there is no room. */
function grown(room: ShapeBudget): ValueShape | undefined {
	return room.shapes-- > 0 ? newShape() : undefined;
}

/** All that was observed for `other` counts for `shape`, too. */
export function merge(shape: ValueShape, other: ValueShape): void {
	shape.count += other.count;
	for (const [type, count] of other.types)
		shape.types.set(type, (shape.types.get(type) ?? 0) + count);
	shape.format =
		other.format === "" || shape.format === other.format
			? shape.format
			: shape.format === ""
				? other.format
				: undefined;
	shape.strings = other.strings && united(shape.strings, other.strings);
	if (other.isOpen) shape.isOpen = true;
	if (other.items) {
		shape.items ??= newShape();
		merge(shape.items, other.items);
	}
	if (other.values) {
		if (!shape.values) {
			shape.properties ??= new Map();
			collapse(shape);
		}
		merge(shape.values!, other.values);
	}
	for (const [name, each] of other.properties ?? []) {
		shape.properties ??= new Map();
		if (!shape.values && isData(shape.properties, name)) collapse(shape);
		const inside = shape.values ?? shape.properties.get(name) ?? newShape();
		if (!shape.values) shape.properties.set(name, inside);
		merge(inside, each);
	}
}

function united(
	a: Set<string> | undefined,
	b: Set<string>,
): Set<string> | undefined {
	const all = a?.union(b);
	return all && all.size <= maxStrings ? all : undefined;
}

function observeString(shape: ValueShape, text: string): void {
	const format = shape.format === undefined ? undefined : formatOf(text);
	shape.format =
		shape.format === "" || shape.format === format ? format : undefined;
	if (!shape.strings || shape.strings.has(text)) return;
	if (text.length > maxStringLength || shape.strings.size >= maxStrings)
		shape.strings = undefined;
	else shape.strings.add(text);
}

function typeOf(value: unknown): JsonType {
	if (value === null) return "null";
	if (Array.isArray(value)) return "array";
	if (typeof value === "number")
		return Number.isInteger(value) ? "integer" : "number";
	return typeof value as JsonType;
}

/**
 * Formats that a draft proposes, each by a form that every validator accepts: what is left out here, such as an address with
 * quotes, is at worst a property without a format.
 */
const forms: Record<string, RegExp> = {
	"date-time":
		/^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/,
	date: /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])$/,
	uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
	email: /^[a-z0-9._-]*[a-z0-9]@([a-z0-9]+(-[a-z0-9]+)*\.)+[a-z]{2,}$/i,
	uri: /^https?:\/\/([a-z0-9]+(-[a-z0-9]+)*\.)*[a-z0-9]+(-[a-z0-9]+)*(:\d{1,5})?(\/[A-Za-z0-9._~/-]*)?(\?[A-Za-z0-9._~=&-]*)?$/,
	ipv4: /^((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)$/,
};

/** The 29th to 31st aren't in every month, but say nothing against a date. */
const lateDay = /^(\d{4}-\d\d)-(29|30|31)(?=$|T)/;

const longest = 500;

/** The format that a string has for sure; undefined if none. */
function formatOf(text: string): string | undefined {
	if (text.length === 0 || text.length > longest) return undefined;
	const early = isDay(text) ? text.replace(lateDay, "$1-28") : text;
	return Object.keys(forms).find((format) => forms[format]!.test(early));
}

/** Whether the date that it begins with exists. */
function isDay(text: string): boolean {
	const [day] = /^\d{4}-\d\d-\d\d/.exec(text) ?? [];
	if (day === undefined) return false;
	const time = new Date(`${day}T00:00:00Z`);
	return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(day);
}
