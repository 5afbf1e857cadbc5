import { Option } from "@commander-js/extra-typings";

/** How objects are printed; the words are kubectl's. */
export const formats = ["table", "wide", "json", "yaml", "name"] as const;
export type Format = (typeof formats)[number];

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
