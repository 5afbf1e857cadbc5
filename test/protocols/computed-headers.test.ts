import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import {
	answerChallenge,
	isLikeComputed,
} from "../../ingest/receive/request/url-challenge.ts";
import type { URLChallenge } from "../../packages/contracts/url-challenge.ts";
import { validateSpec } from "../support/manifests/spec-validator.ts";

/* Some providers want a value that the secret computes in a header of the answer, as Wrike does. */

const secret = "hush";
const key = { algorithm: "HMAC" as const, key: Buffer.from(secret) };
const hmac = (text: string, encoding: "hex" | "base64" = "hex") =>
	createHmac("sha256", secret).update(text).digest(encoding);

type Answer = URLChallenge["answer"];

const compute = {
	algorithm: "SHA256",
	encoding: "Hex",
	input: "{header:x-hook-secret}",
} as const;
const wrike = {
	template: "",
	headers: [{ name: "x-hook-secret", template: "{computed}" }],
	compute,
};

const signed = {
	type: "Signature" as const,
	scheme: "Custom" as const,
	keys: [],
	toleranceSeconds: 300,
};

function answered(
	answer: Partial<Answer>,
	headers: Record<string, string>,
	match: URLChallenge["match"] = { method: "POST", header: "x-hook-secret" },
	body: Buffer | undefined = match.method === "POST"
		? Buffer.from("{}")
		: undefined,
) {
	const whole = {
		status: 200,
		contentType: "text/plain",
		template: "",
		...answer,
	} as Answer;
	const challenges = [{ match, answer: whole }];
	return answerChallenge(
		{
			verification: { allowGet: false, handshakes: [], challenges },
			signingKeys: [key],
			authorization: signed,
		},
		{ method: match.method, headers, query: undefined, ...(body && { body }) },
	);
}

const get = { method: "GET", header: "x-hook-secret" } as const;
const sent = { "x-hook-secret": "abc-123" };

test("a header of the answer holds the HMAC of a value of the request", () => {
	expect(answered(wrike, sent)).toEqual({
		status: 200,
		contentType: "text/plain",
		headers: ["x-hook-secret", hmac("abc-123")],
		body: "",
	});
});

test.each<[string, Partial<Answer>, string[], string]>([
	[
		"with text before it",
		{
			...wrike,
			headers: [{ name: "x-hook-signature", template: "sha256={computed}" }],
		},
		["x-hook-signature", `sha256=${hmac("abc-123")}`],
		"",
	],
	[
		"in Base64",
		{ ...wrike, compute: { ...compute, encoding: "Base64" } },
		["x-hook-secret", hmac("abc-123", "base64")],
		"",
	],
	[
		"beside the value itself",
		{
			...wrike,
			headers: [
				{
					name: "x-hook-secret",
					template: "{header:x-hook-secret}.{computed}",
				},
			],
		},
		["x-hook-secret", `abc-123.${hmac("abc-123")}`],
		"",
	],
	[
		"in two headers",
		{
			...wrike,
			headers: [
				{ name: "x-hook-a", template: "{computed}" },
				{ name: "x-hook-b", template: "{computed}" },
			],
		},
		["x-hook-a", hmac("abc-123"), "x-hook-b", hmac("abc-123")],
		"",
	],
	[
		"in a header and in the content",
		{ ...wrike, template: "{computed}" },
		["x-hook-secret", hmac("abc-123")],
		hmac("abc-123"),
	],
	[
		"without content",
		{ ...wrike, status: 204 },
		["x-hook-secret", hmac("abc-123")],
		"",
	],
])("%s", (_, answer, headers, body) => {
	expect(answered(answer, sent)).toMatchObject({ headers, body });
	expect(answered(answer, sent, get)).toMatchObject({ headers, body });
});

describe("nobody has an event signed so", () => {
	test("a POST is answered only after its own signature was verified", () => {
		expect(
			answerChallenge(
				{
					verification: {
						allowGet: false,
						handshakes: [],
						challenges: [
							{
								match: { method: "POST", header: "x-hook-secret" },
								answer: { status: 200, contentType: "text/plain", ...wrike },
							},
						],
					},
					signingKeys: [key],
					authorization: signed,
				},
				// The head alone: nobody is authorized yet.
				{ method: "POST", headers: sent, query: undefined },
			),
		).toBeUndefined();
	});

	test.each(["{}", '{"order":1}', "a b", "", "a".repeat(129), "v0:1:x", "1.5"])(
		"%j isn't signed",
		(text) => {
			const answer = answered(wrike, { "x-hook-secret": text }, get);
			expect(JSON.stringify(answer) ?? "").not.toContain(hmac(text));
		},
	);

	test("a body that could be signed is no event", () => {
		const challenges = [
			{
				match: get,
				answer: {
					status: 200 as const,
					contentType: "text/plain" as const,
					...wrike,
				},
			},
		];
		const verification = { allowGet: false, handshakes: [], challenges };
		for (const body of ["123", "null", ""])
			expect(isLikeComputed({ verification }, [Buffer.from(body)])).toBe(true);
		expect(isLikeComputed({ verification }, [Buffer.from("{}")])).toBe(false);
	});

	test("what the answer lacks is no challenge", () => {
		expect(answered(wrike, {}, { method: "GET" })).toBeUndefined();
	});
});

test("the CRD takes it in a header, whose name has hook in it", () => {
	const { spec } = parse(
		readFileSync(
			new URL("../../examples/senders/wrike.yaml", import.meta.url),
			"utf8",
		),
	);
	expect(validateSpec("Source", spec)).toEqual([]);
	const { answer } = spec.webhook.verification.challenges[0];
	answer.headers[0].template = "{computed:x}";
	expect(validateSpec("Source", spec)).not.toEqual([]);
	answer.headers[0] = { name: "set-cookie", template: "{computed}" };
	expect(validateSpec("Source", spec)).not.toEqual([]);
});
