import { createRequire } from "node:module";

export interface Payload {
	/** Event name, and its place among that event's examples. */
	name: string;
	value: unknown;
}

/** The real webhook payloads of GitHub in @octokit/webhooks-examples (api.github.com), by event. */
export function githubExamples(): { name: string; examples: unknown[] }[] {
	// A JSON module of a package whose types name only the whole of it.
	return createRequire(import.meta.url)("@octokit/webhooks-examples");
}

/** All 329 of them. */
export function githubPayloads(): Payload[] {
	return githubExamples().flatMap(({ name, examples }) =>
		examples.map((value, index) => ({ name: `${name}-${index}`, value })),
	);
}

/** Ways in which senders write the same JSON. */
export const serialisations: Record<string, (value: unknown) => string> = {
	compact: (value) => JSON.stringify(value),
	indented: (value) => JSON.stringify(value, undefined, 2),
	tabs: (value) => `${JSON.stringify(value, undefined, "\t")}\r\n`,
	/** As Python's json.dumps: ", " and ": ", and everything beyond ASCII escaped. */
	escaped: (value) => escapeNonAscii(JSON.stringify(value)),
	escapedIndented: (value) =>
		escapeNonAscii(JSON.stringify(value, undefined, 1)),
};

/** A payload with what the examples lack: NUL escapes, characters beyond the BMP, lone surrogates, line separators. */
export const oddities = {
	nul: "a\u0000b",
	astral: "🎉𝒳 👩‍👩‍👧",
	lone: "\ud800",
	separators: "\u2028\u2029\u0085\ufeff",
	numbers: [0, -0.1, 1e21, Number.MAX_SAFE_INTEGER],
	"": "empty name, and 'quotes' \"of\" `every` kind \\ ; --",
	text: "größer, 日本語, العربية",
};

function escapeNonAscii(json: string): string {
	return json.replace(
		/[^\0-\x7f]/g,
		(unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}
