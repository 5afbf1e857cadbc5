import type { DuckDBListValue, DuckDBStructValue } from "@duckdb/node-api";
import {
	type InexactType,
	InexactValue,
	leafType,
	type ValueType,
} from "./leaf-type.ts";
import type { StoredNode } from "./stored-file.ts";

type AnyType = ValueType | InexactType;

/** What the stored values of a part of a schema mean, however deep. */
export function typeOf(
	node: StoredNode,
	timeZone: string | undefined,
): AnyType {
	const type = onceType(node, timeZone);
	return node.element.repetition_type === "REPEATED"
		? listOf(node, type)
		: type;
}

/** Of each value, if it is repeated. */
function onceType(node: StoredNode, timeZone: string | undefined): AnyType {
	const { element, children } = node;
	if (element.type) return leafType(element, timeZone);
	const annotation = element.logical_type?.type ?? element.converted_type;
	const [repeated] = children;
	const isList =
		children.length === 1 && repeated?.element.repetition_type === "REPEATED";
	if (annotation === "LIST" && isList)
		return insideOf(
			repeated,
			listOf(repeated, elementType(node, repeated, timeZone)),
		);
	if (annotation?.startsWith("MAP") && isList)
		return insideOf(repeated, mapOf(repeated, timeZone));
	return annotation === undefined || /^(LIST|MAP)/.test(annotation)
		? structOf(children, timeZone)
		: { name: annotation };
}

/** github.com/apache/parquet-format, LogicalTypes.md, Lists: with the rules for files of older writers. */
function elementType(
	list: StoredNode,
	repeated: StoredNode,
	timeZone: string | undefined,
): AnyType {
	const [only, ...others] = repeated.children;
	const { name } = repeated.element;
	const isElement =
		others.length > 0 ||
		only?.element.repetition_type === "REPEATED" ||
		name === "array" ||
		name === `${list.element.name}_tuple`;
	return !only || isElement
		? onceType(repeated, timeZone)
		: insideOf(only, typeOf(only, timeZone));
}

/** The type of a group that has no meaning beside its member's. */
function insideOf(member: StoredNode, type: AnyType): AnyType {
	if (!type.json) return type;
	return {
		name: type.name,
		json: (group) => jsonOf(type, membersOf(group)[member.stored]),
	};
}

function listOf({ children }: StoredNode, type: AnyType): AnyType {
	if (!type.json) return type;
	const [only, ...others] = children;
	// DuckDB puts the one member of a repeated group in the group's place.
	const isPulledUp = only && others.length === 0;
	return {
		name: "LIST",
		json: (list) => {
			const texts = (list as DuckDBListValue).items.map((item) =>
				isPulledUp
					? type.json({ entries: { [only.stored]: item } })
					: jsonOf(type, item),
			);
			return `[${texts.join(",")}]`;
		},
	};
}

function mapOf(
	{ children }: StoredNode,
	timeZone: string | undefined,
): AnyType {
	const [key, value, ...others] = children.map((node) => ({
		stored: node.stored,
		type: typeOf(node, timeZone),
	}));
	if (!key || !value || others.length > 0)
		return { name: "MAP without keys or values" };
	if (!key.type.json) return key.type;
	if (!value.type.json) return value.type;
	const [keyType, valueType] = [key.type, value.type];
	const member = (item: unknown) => {
		const entries = membersOf(item);
		const json = jsonOf(keyType, entries[key.stored]);
		const name = json.startsWith('"') ? json : JSON.stringify(json);
		return `${name}:${at(json, () => jsonOf(valueType, entries[value.stored]))}`;
	};
	return {
		name: "MAP",
		json: (map) => `{${(map as DuckDBListValue).items.map(member).join(",")}}`,
	};
}

/** A JSON object of the parts that have these names. */
export function structOf(
	nodes: readonly StoredNode[],
	timeZone: string | undefined,
): AnyType {
	const names = new Set<string>();
	const members: { stored: string; name: string; type: ValueType }[] = [];
	for (const node of nodes) {
		const { name } = node.element;
		if (names.has(name)) return { name: `group with two members "${name}"` };
		names.add(name);
		const type = typeOf(node, timeZone);
		if (!type.json) return type;
		members.push({ stored: node.stored, name, type });
	}
	return {
		name: "group",
		json: (group) => {
			const values = membersOf(group);
			const texts = members.map(
				({ stored, name, type }) =>
					`${JSON.stringify(name)}:${at(name, () => jsonOf(type, values[stored]))}`,
			);
			return `{${texts.join(",")}}`;
		},
	};
}

/** JSON text of a value that may be NULL. */
export function jsonOf(type: ValueType, value: unknown): string {
	return value === null ? "null" : type.json(value);
}

function membersOf(group: unknown): Readonly<Record<string, unknown>> {
	return (group as DuckDBStructValue).entries;
}

/** Does what may find an inexact value, and says where that is. */
export function at<T>(name: string, work: () => T): T {
	try {
		return work();
	} catch (error) {
		throw error instanceof InexactValue
			? new InexactValue(error.fault, [name, ...error.path])
			: error;
	}
}
