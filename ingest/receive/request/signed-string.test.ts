import { expect, test } from "vitest";
import { doNow } from "../admission/long-work.ts";
import {
	type SignedBody,
	type SignedHead,
	SignedString,
} from "./signed-string.ts";

const head: SignedHead = {
	headers: { "x-id": "K\u00e4se" },
	url: "https://hooks.example.com/in/hooks/a/b",
	query: undefined,
	timestamp: "1700000000",
};
const body: SignedBody = {
	parts: [Buffer.from("12345"), Buffer.from("6789")],
	*textAt(pointer) {
		yield 1;
		return pointer === "/a/~0b" ? "ü" : undefined;
	},
};

function filled(
	template: string,
	change: Partial<SignedHead> = {},
	of: SignedBody | undefined = body,
): string | { missing: string } {
	const text = doNow(
		new SignedString(template).fill({ ...head, ...change }, of),
	);
	if ("missing" in text) return text;
	return text.parts.map((part) => part.toString("latin1")).join("<body>");
}

test.each([
	["{body}", "<body>"],
	["", ""],
	["a{body}{body}b", "a<body><body>b"],
	["{method} {path}?{query}|{timestamp}", "POST /in/hooks/a/b?|1700000000"],
	["{url}", "https://hooks.example.com/in/hooks/a/b"],
	// The CRC catalogue's check value, 0xCBF43926.
	["{bodyDigest:crc32}", "3421780262"],
	[
		"{bodyDigest:sha256}",
		"15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225",
	],
	["{bodyPointer:/a/~0b}", "\u00c3\u00bc"],
	// The bytes that were sent, and not what they may mean.
	["{header:X-Id}", "K\u00e4se"],
	['{"a":{{body}}}{', '{"a":{<body>}}{'],
	["{1}{ body}", "{1}{ body}"],
])("%s stands for %j", (template, text) => {
	expect(filled(template)).toBe(text);
});

test("an empty query is in the URL if there is a question mark", () => {
	expect(filled("{url}", { query: "" })).toMatch(/\/b\?$/);
	expect(filled("{url}|{query}", { query: "a=1?b" })).toMatch(
		/\/b\?a=1\?b\|a=1\?b$/,
	);
});

test.each([
	["{header:x-other}", {}],
	["{timestamp}", { timestamp: undefined }],
	["{bodyPointer:/b}", {}],
	["{header:x-id}", { headers: { "x-id": "a".repeat(20_481) } }],
])("a request that lacks %s has no signed text", (template, change) => {
	expect(filled(`a${template}`, change)).toEqual({ missing: template });
});

test("what repeats much of a request has no signed text, whatever it repeats", () => {
	const headers = { a: "x".repeat(2_100) };
	expect(filled("{header:a}".repeat(9), { headers })).toHaveLength(18_900);
	expect(filled("{header:a}".repeat(10), { headers })).toHaveProperty(
		"missing",
	);
});

test("what the head doesn't show needs the body", () => {
	const reads = (template: string) => new SignedString(template).readsBody;
	expect(reads("{body}{timestamp}{method}")).toBe(false);
	expect(reads("{bodyDigest:sha256}")).toBe(true);
	expect(reads("{bodyPointer:/a}")).toBe(true);
});

test("a placeholder of a later version makes the route unusable", () => {
	expect(() => new SignedString("{body}{nonce}")).toThrow(/\{nonce\}/);
});
