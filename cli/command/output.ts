import { styleText } from "node:util";
import { Option } from "@commander-js/extra-typings";
import {
	lineForTerminal,
	linesForTerminal,
} from "../../packages/escapes/terminal.ts";
import { rawNumberOf } from "../../packages/json/json-reader.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";

/**
 * Prints on standard output. Nothing else in cli/ does, because strangers choose some of the text, and it may be a terminal.
 * @param sign Stands before it, on a terminal in colour, unless NO_COLOR is set (no-color.org).
 */
export function print(
	text: string,
	colour?: "green" | "red" | "gray",
	sign = "",
): void {
	const { stdout } = process;
	if (colour) stdout.write(`${styleText(colour, sign, { stream: stdout })} `);
	stdout.write(linesForTerminal(text));
}

/** The same on standard error, for what isn't the result. */
export function remark(text: string): void {
	process.stderr.write(linesForTerminal(text));
}

/** Left-aligned columns, three spaces apart, as kubectl prints them. */
export function table(rows: string[][]): string {
	const cells = rows.map((row) => row.map(lineForTerminal));
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

/** How objects are printed; the words are kubectl's. */
const formats = ["table", "wide", "json", "yaml", "name"] as const;
export type OutputFormat = (typeof formats)[number];

/** `--output` of a command that prints so; the first unless it is said. */
export function outputIn<const Formats extends readonly string[]>(
	formats: Formats,
	about = "how to print",
) {
	return new Option("-o, --output <format>", about)
		.choices(formats)
		.default(formats[0] as Formats[0]);
}

export const outputOption = outputIn(
	formats,
	"how to print: wide has more columns than table",
);

/** Of what has neither more columns nor a manifest. */
export const dataOption = outputIn(["table", "json", "yaml"]);

/** What isn't an object of Kubernetes, for programs. */
export async function dataText(
	value: unknown,
	format: "json" | "yaml",
): Promise<string> {
	return format === "yaml" ? yamlText(value) : `${jsonText(value, 2)}\n`;
}

/**
 * JSON that writes nothing to the terminal: senders choose some of its text, and JSON.stringify escapes only those of the control
 * characters that are below U+0020.
 */
export function jsonText(value: unknown, indent?: number): string {
	return linesForTerminal(JSON.stringify(value, undefined, indent));
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
	return yamlText(value);
}

/** YAML that writes nothing to the terminal, as {@link jsonText}. */
export async function yamlText(value: unknown): Promise<string> {
	// Loaded late, because its library costs every other command.
	const escapes = await import("../../packages/escapes/yaml.ts");
	return escapes.yamlText(value, bigIntOf);
}

/** YAML's library writes no other numbers that JavaScript can't hold, nor does Kubernetes have any. */
function bigIntOf(_: unknown, value: unknown): unknown {
	const text = rawNumberOf(value);
	return text !== undefined && /^-?\d+$/.test(text) ? BigInt(text) : value;
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
