import { Option } from "@commander-js/extra-typings";
import type { KubeObject } from "../../packages/kube/resource.ts";
import { rawNumberOf } from "../../packages/service/exact-json.ts";
import {
	linesForTerminal,
	unsafeOnTerminal,
} from "../../packages/service/terminal-text.ts";

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
	return text.replace(runsOfUnsafe, " ");
}

const runsOfUnsafe = new RegExp(`${unsafeOnTerminal.source}+`, "g");

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

/** YAML that writes nothing to the terminal, as {@link jsonText}: only a text in double quotes can have escapes. */
export async function yamlText(value: unknown): Promise<string> {
	// yaml: writes YAML 1.2. Loaded late, because it costs every other command.
	const { Document, visit } = await import("yaml");
	const document = new Document(value, bigIntOf);
	visit(document, {
		Scalar: (_, node) => {
			const { value } = node;
			if (
				typeof value === "string" &&
				(linesForTerminal(value) !== value || isOtherInYaml11(value))
			)
				node.type = "QUOTE_DOUBLE";
		},
	});
	return linesForTerminal(document.toString({ lineWidth: 0 }));
}

/** Readers of YAML 1.1, such as Python's, take `06:30` for a number and `on` for true. */
function isOtherInYaml11(text: string): boolean {
	return /^(\d+(:\d+)+|y|yes|n|no|on|off)$/i.test(text);
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
