// ajv-formats: the formats that JSON Schema names, as regular expressions that take no longer than the text is long.
import { fullFormats } from "ajv-formats/dist/formats.js";

/** What promises to take linear time: `url` doesn't, and is no format of JSON Schema. */
export const formatNames = [
	"date",
	"time",
	"date-time",
	"duration",
	"email",
	"hostname",
	"ipv4",
	"ipv6",
	"uri",
	"uri-reference",
	"uri-template",
	"uuid",
	"json-pointer",
	"relative-json-pointer",
	"regex",
] as const;

export type FormatName = (typeof formatNames)[number];

export const formats = Object.fromEntries(
	formatNames.map((name) => [name, testOf(name)]),
) as Record<FormatName, (text: string) => boolean>;

function testOf(name: FormatName): (text: string) => boolean {
	if (name === "regex") return isRegularExpression;
	const format = fullFormats[name] as unknown;
	if (typeof format === "function") return format as (text: string) => boolean;
	if (format instanceof RegExp) return (text) => format.test(text);
	return (format as { validate: (text: string) => boolean }).validate;
}

/** ECMA-262's, with the flag `u` as the drafts recommend. */
function isRegularExpression(text: string): boolean {
	try {
		new RegExp(text, "u");
		return true;
	} catch {
		return false;
	}
}
