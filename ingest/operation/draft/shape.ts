import { formatOf } from "./string-format.ts";

/** What the values at one place of many bodies have in common. */
export interface Shape {
	/** How many values. */
	count: number;
	/** How many of them are of each type of JSON Schema; a number without fraction is an `integer`. */
	types: Map<JsonType, number>;
	/** The different strings, while they are few. */
	strings: Set<string> | undefined;
	/** What all strings are; undefined if they differ, "" before the first. */
	format: string | undefined;
	/** Of arrays. */
	items?: Shape;
	/** Of objects; each counts the objects that have the property. */
	properties?: Map<string, Shape>;
	/** There was no room for all properties. */
	isOpen?: true;
	/** Of objects with so many different names that they are data: the values of all. */
	values?: Shape;
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
export interface Room {
	shapes: number;
}

export function newShape(): Shape {
	return {
		count: 0,
		types: new Map(),
		strings: new Set(),
		format: "",
	};
}

/** Adds a value of JSON.parse's to a shape. */
export function observe(
	shape: Shape,
	value: unknown,
	room: Room,
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
	shape: Shape,
	object: object,
	room: Room,
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

function isData(properties: Map<string, Shape>, name: string): boolean {
	return (
		name.length > maxNameLength ||
		(properties.size >= maxNames && !properties.has(name))
	);
}

/** From now on, names don't count. */
function collapse(shape: Shape): void {
	shape.values = newShape();
	for (const each of shape.properties!.values()) merge(shape.values, each);
	shape.properties!.clear();
}

function propertyOf(
	properties: Map<string, Shape>,
	name: string,
	room: Room,
): Shape | undefined {
	const known = properties.get(name);
	if (known) return known;
	const made = grown(room);
	if (made) properties.set(name, made);
	return made;
}

/** Undefined if there is no room. */
function grown(room: Room): Shape | undefined {
	return room.shapes-- > 0 ? newShape() : undefined;
}

/** All that was observed for `other` counts for `shape`, too. */
export function merge(shape: Shape, other: Shape): void {
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

function observeString(shape: Shape, text: string): void {
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
