import { Option } from "@commander-js/extra-typings";
import type { KubeObject } from "../../packages/kube/resource.ts";

/** Left-aligned columns, three spaces apart, as kubectl prints them. */
export function table(rows: string[][]): string {
	const cells = rows.map((row) => row.map(cellText));
	const widths = (cells[0] ?? []).map((_, column) =>
		Math.max(...cells.map((row) => row[column]!.length)),
	);
	return cells
		.map((row) =>
			row
				.map((cell, column) => cell.padEnd(widths[column]!))
				.join("   ")
				.trimEnd(),
		)
		.map((line) => `${line}\n`)
		.join("");
}

/** A cell never breaks its line, nor writes to the terminal: senders choose some of its text. */
function cellText(text: string): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
	return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}

/** How objects are printed; the words are kubectl's. */
const formats = ["table", "wide", "json", "yaml", "name"] as const;
export type OutputFormat = (typeof formats)[number];

/** `--output` of a command that prints so; `table` unless it is said. */
export function outputIn<const Formats extends readonly ["table", ...string[]]>(
	formats: Formats,
	about = "how to print",
) {
	return new Option("-o, --output <format>", about)
		.choices(formats)
		.default("table" as const);
}

export const outputOption = outputIn(
	formats,
	"how to print: wide has more columns than table",
);

/** Of what has neither more columns nor a manifest. */
export const tableOrJson = outputIn(["table", "json"]);

/**
 * JSON that writes nothing to the terminal: senders choose some of its text, and JSON.stringify leaves U+007F to U+009F, among
 * which are terminals' control sequences (ECMA-48, 8-bit), as they are.
 */
export function jsonText(value: unknown, indent?: number): string {
	return JSON.stringify(value, undefined, indent).replace(
		/[\u007f-\u009f]/g,
		(character) => `\\u00${character.charCodeAt(0).toString(16)}`,
	);
}

/** Objects as text that programs read: `json` and `yaml` as `kubectl apply` takes them, several as a List. */
export async function objectsText(
	objects: readonly KubeObject[],
	format: Exclude<OutputFormat, "table" | "wide">,
	{ asList }: { asList: boolean },
): Promise<string> {
	if (format === "name")
		return objects.map((object) => `${nameOf(object)}\n`).join("");
	const shown = objects.map(withoutManagedFields);
	const value = asList
		? { apiVersion: "v1", kind: "List", items: shown }
		: shown[0];
	if (format === "json") return `${jsonText(value, 2)}\n`;
	// yaml: writes YAML 1.2. Loaded late, because it costs every other command.
	const { stringify } = await import("yaml");
	return stringify(value, { lineWidth: 0 });
}

/** As kubectl names it: `source/shop`. */
export function nameOf({ kind = "", metadata }: KubeObject): string {
	return `${kind.toLowerCase()}/${metadata.name}`;
}

/** Who wrote which field is as long as the rest. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
	const { managedFields: _, ...metadata } = object.metadata;
	return { ...object, metadata };
}
