import type { FastifyRouteSchemaDef } from "fastify/types/schema.js";
import type { Endpoint } from "./endpoint.ts";
import { type ErrorDetail, invalidParameter, RequestError } from "./errors.ts";

/** What fastify validates of a request before its handler. */
export function schemaOf({ query = [] }: Pick<Endpoint, "query">) {
	const known = Object.fromEntries(query.map((name) => [name, {}]));
	return { params: {}, querystring: { type: "object", properties: known } };
}

/** Validates by a schema of {@link schemaOf}. Not ajv: its messages don't say what would be right. */
export function validatorOf({
	schema,
	httpPart,
}: FastifyRouteSchemaDef<ReturnType<typeof schemaOf>["querystring"]>) {
	const query = Object.keys(schema.properties ?? {});
	return (data: Record<string, string>) => {
		try {
			if (httpPart === "params") requireNames(data);
			else queryOf({ query }, data);
			return { value: data };
		} catch (error) {
			return { error: error as Error };
		}
	};
}

/** Whether a text is an RFC 1123 label. Anything else must not become part of a path to the apiserver. */
export function isDnsLabel(text: string): boolean {
	return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text);
}

/** Refuses anything but RFC 1123 labels, because names become part of paths to the apiserver. */
function requireNames(params: Record<string, string>): void {
	for (const name of Object.values(params))
		if (!isDnsLabel(name))
			throw new RequestError("NotFound", `"${name}" is not a valid name.`);
}

/**
 * The query parameters of a request. Throws a 400 that names each one that the endpoint doesn't have or that is repeated:
 * ignoring `?status=Failed` would answer with other runs as well.
 */
export function queryOf(
	{ query: known = [] }: Pick<Endpoint, "query">,
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

/**
 * The instant in RFC 3339 that a parameter names: of a date, its first one as `from` and its last one as `to`. A time without
 * an offset is none, since nobody knows whose clock it is of. Throws a 400 for anything else.
 */
export function instantOf(name: "from" | "to", text: string): string {
	const end = name === "from" ? "T00:00:00.000Z" : "T23:59:59.999Z";
	const ms = date.test(text)
		? Date.parse(text + end)
		: dateTime.test(text)
			? Date.parse(text)
			: Number.NaN;
	const year = new Date(ms).getUTCFullYear();
	if (year >= 0 && year <= 9999) return new Date(ms).toISOString();
	throw invalidParameter(
		name,
		"must be a date or a time, such as 2026-03-01 or 2026-03-01T12:00:00Z",
		text,
	);
}

const date = /^\d{4}-\d\d-\d\d$/;
const dateTime =
	/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
