import type { ContentKind } from "../../wire/frame.ts";
import { type Refusal, refusals } from "../answer/refusal.ts";

/** Reads a Content-Type header. */
export function contentKind(
	contentType: string | undefined,
): ContentKind | Refusal {
	// Nearly every webhook sends exactly this.
	if (contentType === "application/json") return "json";
	const [type = "", ...parameters] = (contentType ?? "").split(";");
	const kind = kindOf(type.trim().toLowerCase());
	if (kind === undefined) return refusals.UnsupportedContentType;
	return parameters.some(isOtherCharset) ? refusals.UnsupportedCharset : kind;
}

function kindOf(type: string): ContentKind | undefined {
	if (type === "application/x-www-form-urlencoded") return "form";
	// RFC 6839 §3.1: any type with the suffix +json is JSON text.
	return /^application\/json$|^[a-z]+\/[^/\s]+\+json$/.test(type)
		? "json"
		: undefined;
}

function isOtherCharset(parameter: string): boolean {
	const [name = "", value = ""] = parameter.split("=");
	return (
		name.trim().toLowerCase() === "charset" &&
		!/^"?utf-?8"?$/i.test(value.trim())
	);
}
