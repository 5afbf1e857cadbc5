import { expect, test } from "vitest";
import { refusals } from "../answer/refusal.ts";
import { formToJSON } from "./form.ts";
import { jsonText } from "./request-body.ts";

test.each([
	"{}",
	"null",
	"-0.0e-1",
	'""',
	' \t\r\n[ 1 , { "a" : "ü\u{1F600}" } ]\n',
	'"\\u0000\\ud800"',
	'{"a":1,"a":2,"__proto__":3}',
	"123456789012345678901234567890.5",
	"[".repeat(500_000) + "]".repeat(500_000),
])("JSON text is stored as the same bytes (case %#)", (text) => {
	const body = Buffer.from(text);
	expect(jsonText("json", body)).toBe(body);
});

test.each([
	"{",
	"{}{}",
	"{'a':1}",
	"[1,]",
	"NaN",
	"undefined",
	"01",
	'"\n"',
	"\ufeff{}",
	"\u00a0{}",
	" ",
	"[".repeat(1_000_000),
	'{"a":'.repeat(200_000),
])("a body that is not one JSON value is refused (case %#)", (text) => {
	expect(jsonText("json", Buffer.from(text))).toBe(refusals.InvalidJSON);
});

test.each(["22ff22", "22c080 22", "22eda080 22", "22c3"])(
	"bytes %s are refused, as they are not UTF-8",
	(hex) => {
		const body = Buffer.from(hex.replace(" ", ""), "hex");
		expect(jsonText("json", body)).toBe(refusals.InvalidEncoding);
	},
);

test("an empty body is refused", () => {
	expect(jsonText("json", Buffer.alloc(0))).toBe(refusals.EmptyBody);
	expect(jsonText("form", Buffer.alloc(0))).toBe(refusals.EmptyBody);
});

test.each([
	["a=1&b=2", '{"a":"1","b":"2"}'],
	["b=1&a=2&b=3&b=", '{"b":["1","3",""],"a":"2"}'],
	["2=x&1=y&a=z", '{"2":"x","1":"y","a":"z"}'],
	["__proto__=x&constructor=y", '{"__proto__":"x","constructor":"y"}'],
	["a+b=c+d%2B&%C3%BC=%E2%82%AC", '{"a b":"c d+","ü":"€"}'],
	["ü=€", '{"ü":"€"}'],
	["?a=%00&&=&c", '{"?a":"\\u0000","":"","c":""}'],
	["a=%FF", '{"a":"\ufffd"}'],
	["&", "{}"],
])("the form %s is stored as %s", (form, json) => {
	expect(formToJSON(Buffer.from(form))).toBe(json);
});

test("a form with too many fields is refused after the first 10,000, so that 15 compressed bytes don't stop every sender", () => {
	expect(jsonText("form", Buffer.from("a&".repeat(500_000)))).toBe(
		refusals.TooManyFields,
	);
	const most = Buffer.from("a&".repeat(10_000));
	expect(JSON.parse(formToJSON(most)!).a).toHaveLength(10_000);
	expect(formToJSON(Buffer.concat([most, most]))).toBeUndefined();
	// An empty field is none.
	expect(formToJSON(Buffer.from("&".repeat(100_000)))).toBe("{}");
});

test("a form whose JSON is larger than a frame is refused", () => {
	const form = Buffer.from(`a=${"\u0001".repeat(1_400_000)}`);
	expect(jsonText("form", form)).toBe(refusals.BodyTooLarge);
});
