import { type ErrorDetail, invalidParameter, RequestError } from "./errors.ts";
import type { Operation } from "./endpoint.ts";

/**
 * The query parameters of a request. Throws a 400 that names each one that the operation doesn't have or that is repeated:
 * ignoring `?status=Failed` would answer with other runs as well.
 */
export function queryOf(
	{ query: known = [] }: Pick<Operation, "query">,
	given: Record<string, string | string[]>,
): Record<string, string> {
	const details = Object.entries(given).flatMap(([name, value]) =>
		problemsOf(name, value, known),
	);
	if (details.length > 0)
		throw new RequestError(
			"InvalidRequest",
			"The query is invalid. Correct the parameters in details.",
			{ details },
		);
	return given as Record<string, string>;
}

/** Whether a parameter is `true`. Throws a 400 for anything but `true` and `false`. */
export function flagOf(name: string, value = "false"): boolean {
	if (value === "true" || value === "false") return value === "true";
	throw invalidParameter(name, "must be true or false", value);
}

function problemsOf(
	name: string,
	value: string | string[],
	known: string[],
): ErrorDetail[] {
	if (!known.includes(name)) {
		const allowed =
			known.length > 0
				? `Known ones are ${known.join(", ")}.`
				: "This request has none.";
		return [
			{ path: name, message: `is not a known query parameter. ${allowed}` },
		];
	}
	return Array.isArray(value)
		? [{ path: name, message: "must not be repeated" }]
		: [];
}
