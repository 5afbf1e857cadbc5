import type { ContentKind } from "../../wire/frame-event.ts";
import { type Refusal, refusals } from "./refusal.ts";

/**
 * Reads a Content-Type header. Only a form has a type of its own; a body of any other type, or of none, may be JSON: Amazon
 * SNS sends JSON as text/plain. In JSON a charset has no effect (RFC 8259 §11).
 */
export function contentKind(
	contentType: string | undefined,
): ContentKind | Refusal {
	// Nearly every webhook sends exactly this.
	if (contentType === "application/json") return "json";
	const [type = "", ...parameters] = (contentType ?? "").split(";");
	if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded")
		return "json";
	return parameters.some(isOtherCharset) ? refusals.UnsupportedCharset : "form";
}

function isOtherCharset(parameter: string): boolean {
	const [name = "", value = ""] = parameter.split("=");
	return (
		name.trim().toLowerCase() === "charset" &&
		!/^"?utf-?8"?$/i.test(value.trim())
	);
}
