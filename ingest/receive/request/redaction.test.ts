import { expect, test } from "vitest";
import { credentialsOf, redact } from "./redaction.ts";

const path = `/hooks/${"0".repeat(32)}/${"1".repeat(32)}`;

test.each([
	["a bearer token", path, { authorization: "Bearer s3cr3t-value" }],
	["a token header", path, { "x-webhook-token": "s3cr3t-value" }],
	["a token in the URL", `${path}?token=s3cr3t-value`, {}],
	["an encoded token in the URL", `${path}?token=s3cr3t%2Dvalue`, {}],
	["a signature header", path, { "x-hub-signature-256": "s3cr3t-value" }],
	["a cookie", path, { cookie: "s3cr3t-value" }],
])("%s that the body repeats is redacted", (_, url, headers) => {
	const text = '{"echo": "s3cr3t-value", "order": 1}';
	expect(redact(text, credentialsOf(url, headers))).toBe(
		'{"echo": "[redacted]", "order": 1}',
	);
});

test("the header of a Custom signature is redacted whatever its name", () => {
	const credentials = credentialsOf(path, { "x-proof": "abcdef" }, "x-proof");
	expect(redact("it is abcdef", credentials)).toBe("it is [redacted]");
});

test.each([
	[`see https://x${path} now`, "see https://x/hooks/[redacted] now"],
	['{"api_key":"abc","a":1}', '{"api_key":[redacted],"a":1}'],
	['{"accessToken" : "a\\"b", "a":1}', '{"accessToken" : [redacted], "a":1}'],
	["a=1&password=hunter2&b=2", "a=1&password=[redacted]&b=2"],
	["Authorization: Bearer abc.def", "Authorization: [redacted] [redacted]"],
	["say bearer abc", "say bearer [redacted]"],
	["eyJhbGciOiJub25lIn0.e30. is a JWT", "[redacted] is a JWT"],
	['{"secret":"not ended', '{"secret":[redacted]'],
	['{"order":{"id":7,"total":"12.50"}}', '{"order":{"id":7,"total":"12.50"}}'],
])("%s becomes %s", (text, shown) => {
	expect(redact(text, [])).toBe(shown);
});

test("a credential that begins within the wanted length is hidden whole, and none is shown in part", () => {
	const credentials = ["abcdefghijkl"];
	expect(redact("12345abcdefghijkl", credentials, 8)).toBe("12345[redacted]");
	expect(redact("12345abcdefgh", credentials, 8)).toBe("12345[redacted]");
	expect(redact("123456789abcdefghijkl", credentials, 8)).toBe("12345678");
});

test("what overlaps is hidden whole", () => {
	expect(redact("xabcdefghix", ["abcdef", "defghi"])).toBe("x[redacted]x");
});
