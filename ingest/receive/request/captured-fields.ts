import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import { parameterField } from "../../../packages/contracts/captured-field.ts";
import type { Route } from "../../../packages/contracts/route.ts";

/**
 * What a Source stores of a request beside its body, as a JSON object: headers, and query parameters by
 * {@link parameterField}. Empty if there is nothing. A request's head has at most 16 KiB, which bounds it.
 */
export function capturedFields(
	{
		capturedHeaders,
		capturedParameters,
	}: Pick<Route, "capturedHeaders" | "capturedParameters">,
	headers: IncomingHttpHeaders,
	query: string | undefined,
): string {
	if (capturedHeaders.length === 0 && !capturedParameters) return "";
	const captured = capturedHeaders
		.filter((name) => Object.hasOwn(headers, name))
		.map((name) => [name, readable(String(headers[name]))]);
	if (capturedParameters && query !== undefined) {
		const sent = new URLSearchParams(query);
		for (const name of capturedParameters) {
			const value = sent.get(name);
			if (value !== null) captured.push([parameterField(name), value]);
		}
	}
	return captured.length === 0
		? ""
		: JSON.stringify(Object.fromEntries(captured));
}

/** node:http decodes every value as Latin-1. Senders who go beyond ASCII mostly mean UTF-8 (RFC 9110 §5.5 leaves it open). */
function readable(value: string): string {
	const bytes = Buffer.from(value, "latin1");
	return isUtf8(bytes) ? bytes.toString() : value;
}
