import type { FastifyInstance } from "fastify";
import { parseExact } from "../../packages/json/json-reader.ts";
import { RequestError } from "./errors.ts";

declare module "fastify" {
	interface FastifyRequest {
		/** The body as it was sent; undefined if there was none. */
		bodyText?: string;
	}
}

// Not @fastify/accepts: it chooses among several types, and each endpoint has one, which is allowed or not.
/** Whether the `Accept` header allows a response of this type (RFC 9110 §12.5.1). Without the header, every type is allowed. */
export function accepts(accept: string | undefined, type: string): boolean {
	if (accept === undefined || accept.trim() === "") return true;
	const [family] = type.split("/");
	const wanted = accept.split(",").map(rangeOf);
	// The most specific range that matches decides.
	for (const range of [type, `${family}/*`, "*/*"]) {
		const found = wanted.find(({ name }) => name === range);
		if (found) return found.quality > 0;
	}
	return false;
}

function rangeOf(text: string): { name: string; quality: number } {
	const [name = "", ...parameters] = text.split(";");
	const quality = parameters
		.map((parameter) => /^\s*q\s*=\s*([\d.]+)\s*$/i.exec(parameter)?.[1])
		.find((value) => value !== undefined);
	return { name: name.trim().toLowerCase(), quality: Number(quality ?? 1) };
}

/**
 * Parses bodies of JSON alone, and keeps the numbers of tracking plans as they are written. An empty body is allowed too: many
 * clients name a content type for it.
 */
export function parseJsonBodies(api: FastifyInstance): void {
	const parse = api.getDefaultJsonParser("error", "error");
	api.decorateRequest("bodyText", undefined);
	api.removeContentTypeParser(["text/plain", "application/json"]);
	api.addContentTypeParser<string>(
		["application/json", "application/merge-patch+json"],
		{ parseAs: "string" },
		(request, body, done) => {
			if (body === "") done(null, undefined);
			else
				void parse(request, body, (error, value) => {
					if (!error && isTooDeep(value)) done(tooDeep());
					else if (error) done(error);
					else {
						request.bodyText = withoutByteOrderMark(body);
						done(null, parseExact(request.bodyText, value));
					}
				});
		},
	);
}

/** fastify's parser takes one off as well (RFC 8259 §8.1): some editors begin files with it. */
function withoutByteOrderMark(text: string): string {
	return text.replace(/^\uFEFF/, "");
}

/** Merging and serializing are recursive. No resource has as many levels. */
const maxDepth = 500;

function isTooDeep(value: unknown): boolean {
	let level = [value];
	for (let depth = 0; level.length > 0; depth++) {
		if (depth > maxDepth) return true;
		level = level
			.filter((item) => typeof item === "object" && item !== null)
			.flatMap((item) => Object.values(item as object));
	}
	return false;
}

function tooDeep(): RequestError {
	return new RequestError(
		"InvalidRequest",
		`The body is nested too deeply. At most ${maxDepth} levels are allowed.`,
	);
}
