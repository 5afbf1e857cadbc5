import { createHmac, hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { describe, expect, test } from "vitest";
import { routeWith } from "../../../test/support/examples/route-example.ts";
import { maxEventBodyBytes } from "../../wire/frame.ts";
import { validateSender } from "../body/request-body.ts";
import { type RequestRefusal, refusals } from "./refusal.ts";
import { type AcceptedHead, validateHead } from "./request-head.ts";
import type { ServedRoute } from "./route-table.ts";

const key = "0123456789abcdef".repeat(2);
const nowMs = 1_700_000_000_000;
const json = { "content-type": "application/json" };
const secret = Buffer.from("hush");
const body = Buffer.from("{}");

function validate(
	change: Partial<ServedRoute>,
	headers: IncomingHttpHeaders = json,
	{ method = "POST", query }: { method?: string; query?: string } = {},
) {
	const route = { ...routeWith(key, key), ...change };
	const address = { sourceKey: key, urlKey: key, token: undefined, query };
	return validateHead({ route, address }, method, headers, nowMs);
}

const tokens: Partial<ServedRoute> = {
	authorization: { type: "CustomToken", digests: [hash("sha256", "t")] },
	tokenDigest: (token) => hash("sha256", token),
};
const signed: Partial<ServedRoute> = {
	authorization: {
		type: "Signature",
		scheme: "GitHub",
		keys: [],
		toleranceSeconds: 300,
	},
	signingKeys: [{ algorithm: "HMAC", key: secret }],
};
const signature = {
	...json,
	"x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
};
const checked: Partial<ServedRoute> = {
	verification: { allowGet: true, handshakes: ["MicrosoftGraph"] },
};
const introduced: Partial<ServedRoute> = {
	verification: {
		allowGet: false,
		handshakes: [],
		challenges: [
			{
				match: { method: "POST", header: "x-hook-secret" },
				answer: { status: 200, contentType: "text/plain", template: "" },
			},
		],
	},
};
const challenge = { query: "validationToken=x" };

test.each<
	[
		string,
		RequestRefusal | string,
		Partial<ServedRoute>,
		IncomingHttpHeaders?,
		{ method?: string; query?: string }?,
	]
>([
	["an ordinary event", "accepted", {}],
	["a wrong token", refusals.Unauthorized, tokens],
	["a right token", "accepted", tokens, { ...json, authorization: "Bearer t" }],
	[
		"a token that can't be checked",
		refusals.KeyUnavailable,
		{ ...tokens, tokenDigest: undefined },
		{ ...json, authorization: "Bearer t" },
	],
	["no signature", refusals.SignatureInvalid, signed],
	["any signature, until the body is read", "accepted", signed, signature],
	[
		"a signature that can't be checked",
		refusals.KeyUnavailable,
		{ ...signed, signingKeys: undefined },
		signature,
	],
	["a suspended Source", refusals.SourceSuspended, { suspended: true }],
	[
		"a suspended Source, without its token",
		refusals.Unauthorized,
		{ ...tokens, suspended: true },
	],
	[
		"a suspended Source, until the body is read",
		"accepted",
		{ ...signed, suspended: true },
		signature,
	],
	[
		"a challenge of a POST, until the body is read",
		"accepted",
		checked,
		json,
		challenge,
	],
	[
		"a challenge in a header, without a token or signature",
		"answered",
		{ ...signed, ...introduced },
		{ "x-hook-secret": "s" },
	],
	["a challenge by GET", "answered", checked, {}, { method: "GET" }],
	[
		"a challenge without its token",
		refusals.Unauthorized,
		{ ...tokens, ...checked },
		json,
		challenge,
	],
	[
		"a challenge to a suspended Source",
		refusals.SourceSuspended,
		{ ...checked, suspended: true },
		json,
		challenge,
	],
	["no Content-Type", "accepted", {}, {}],
	[
		"an unknown encoding",
		refusals.UnsupportedContentEncoding,
		{},
		{ ...json, "content-encoding": "compress" },
	],
	[
		"a body at the limit",
		"accepted",
		{ maxBodyBytes: 10 },
		{ ...json, "content-length": "10" },
	],
	[
		"a body beyond the limit",
		{
			...refusals.BodyTooLarge,
			message:
				"The body is larger than the 10 bytes that this source accepts. Send a smaller one, or raise spec.webhook.maxBodyBytes, to 4194304 at most.",
		},
		{ maxBodyBytes: 10 },
		{ ...json, "content-length": "11" },
	],
])("%s", (_, expected, ...request) => {
	const validated = validate(...request);
	if (expected === "accepted") expect(validated).toHaveProperty("kind", "json");
	else if (expected === "answered") expect(validated).toHaveProperty("body");
	else expect(validated).toMatchObject(expected as object);
});

test("a method that the Source doesn't allow is refused, and Allow lists the allowed ones", () => {
	for (const [change, allowed] of [
		[{}, "POST"],
		[checked, "POST, GET, HEAD"],
	] as const)
		expect(validate(change, json, { method: "PUT" })).toMatchObject({
			code: "MethodNotAllowed",
			headers: ["allow", allowed],
		});
});

test("no Source accepts a body that doesn't fit into a frame", () => {
	expect(validate({ maxBodyBytes: 2 ** 30 })).toMatchObject({
		maxBodyBytes: maxEventBodyBytes,
	});
});

test("captured headers are a JSON object in the Source's order, decoded as UTF-8 where valid", () => {
	const route = { capturedHeaders: ["x-b", "x-a", "x-missing"] };
	const headers = {
		...json,
		"x-a": Buffer.from("Käse").toString("latin1"),
		"x-b": "K\xe4se",
		"x-c": "other",
	};
	expect(validate(route, headers)).toMatchObject({
		headers: '{"x-b":"Käse","x-a":"Käse"}',
	});
	expect(validate(route)).toMatchObject({ headers: "" });
});

test("captured query parameters stand beside the headers, under names that no header has", () => {
	const route = { capturedHeaders: ["x-a"], capturedParameters: ["x-a", "b"] };
	const headers = { ...json, "x-a": "1" };
	const query = "b=K%C3%A4se+1&b=2&x-a=3&token=secret";
	expect(validate(route, headers, { query })).toMatchObject({
		headers: '{"x-a":"1","?x-a":"3","?b":"Käse 1"}',
	});
	expect(validate(route, headers)).toMatchObject({ headers: '{"x-a":"1"}' });
});

test("what is captured of the largest head fits into a frame beside the largest body", () => {
	const name = "p";
	for (const text of ["%01", "%ff", '"', "\xff"]) {
		const value = text.repeat((16_384 - 3) / text.length);
		const validated = validate({ capturedParameters: [name] }, json, {
			query: `${name}=${value}`,
		}) as AcceptedHead;
		expect(Buffer.byteLength(validated.headers)).toBeLessThan(33_000);
	}
});

describe("the body", () => {
	const head = (change: Partial<ServedRoute>) =>
		validate({ ...signed, ...change }, signature) as AcceptedHead;

	test("must carry the signature that the head presents", () => {
		expect(validateSender(head({}), true)).toBeUndefined();
		expect(validateSender(head({}), false)).toBe(refusals.SignatureInvalid);
	});

	test("of a suspended Source is refused, but an unsigned sender doesn't learn why", () => {
		const suspended = head({ suspended: true });
		expect(validateSender(suspended, true)).toBe(refusals.SourceSuspended);
		expect(validateSender(suspended, false)).toBe(refusals.SignatureInvalid);
	});
});

test.each([
	[{}, "The request has no token."],
	[
		{ authorization: "Basic dDo=" },
		"The request has no token: its header Authorization has no Bearer.",
	],
	[{ authorization: "Bearer t2" }, "The token is not this source's."],
	[{ "x-webhook-token": "Basic t" }, "The token is not this source's."],
])("people read why %j is no token", (headers, cause) => {
	expect(validate(tokens, { ...json, ...headers })).toMatchObject({
		code: "Unauthorized",
		cause,
	});
});
