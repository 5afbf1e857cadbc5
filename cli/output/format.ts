import { Option } from "@commander-js/extra-typings";

/** How objects are printed; the words are kubectl's. */
export const formats = ["table", "wide", "json", "yaml", "name"] as const;
export type Format = (typeof formats)[number];

export const outputOption = new Option(
	"-o, --output <format>",
	"how to print: wide has more columns than table",
)
	.choices(formats)
	.default("table" as const);
