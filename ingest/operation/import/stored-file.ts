import { appendFile } from "node:fs/promises";
// hyparquet: DuckDB tells no logical type that it doesn't know, nor two names that differ in case alone.
import {
	asyncBufferFromFile,
	parquetMetadataAsync,
	parquetSchema,
	type SchemaElement,
	type SchemaTree,
} from "hyparquet";
import { FieldRepetitionTypes } from "hyparquet/src/constants.js";
import {
	fileEnd,
	footerStruct,
	numberOfType,
	rowGroupStruct,
	ThriftStruct,
} from "../../../packages/parquet/footer.ts";

/** A part of a schema, by the name that a reader of the stored values has for it. */
export interface StoredNode {
	stored: string;
	element: SchemaElement;
	children: StoredNode[];
}

/**
 * Makes a Parquet file one of its physical values, and returns what they mean. DuckDB takes some values for others: a decimal
 * of 39 digits for a DOUBLE, nanoseconds for microseconds. So it gets another footer behind the file's own, by which it
 * decompresses and decodes, but interprets nothing: each group is a struct, bytes are bytes, and INT96 is 12 of them. Names
 * are unique whatever their case, since DuckDB's are.
 */
export async function asStored(path: string): Promise<StoredNode[]> {
	const metadata = await parquetMetadataAsync(await asyncBufferFromFile(path));
	const root = numbered(parquetSchema(metadata));
	const paths = leafPaths(root, []);
	const footer = footerStruct({
		children: root.children.length,
		elements: root.children.flatMap(elements),
		rows: Number(metadata.num_rows),
		rowGroups: metadata.row_groups.map((group) => rowGroupStruct(group, paths)),
	});
	await appendFile(path, fileEnd(footer));
	return root.children;
}

function numbered(tree: SchemaTree): StoredNode {
	let next = 0;
	const node = ({ element, children }: SchemaTree): StoredNode => ({
		stored: `f${next++}`,
		element,
		children: children.map(node),
	});
	return node(tree);
}

/** Without the types that say what a value means. */
function elements({ element, children, stored }: StoredNode): ThriftStruct[] {
	const { type, type_length, repetition_type } = element;
	const struct = new ThriftStruct();
	if (type) struct.i32(1, numberOfType(type));
	const length = type === "INT96" ? 12 : type_length;
	if (type && length !== undefined) struct.i32(2, length);
	struct
		.i32(3, FieldRepetitionTypes.indexOf(repetition_type ?? "REQUIRED"))
		.binary(4, stored);
	if (!type) struct.i32(5, children.length);
	return [struct, ...children.flatMap(elements)];
}

function leafPaths(node: StoredNode, path: string[]): string[][] {
	return node.element.type
		? [path]
		: node.children.flatMap((child) =>
				leafPaths(child, [...path, child.stored]),
			);
}
