import { expect, test } from "vitest";
import { refusals } from "../refusal.ts";
import { contentKind, formToJSON, storedBody } from "./content.ts";

test.each([
	["application/json", "json"],
	["Application/JSON ; charset=UTF-8", "json"],
	['application/json;charset="utf-8"', "json"],
	["application/cloudevents+json; charset=utf8; x=1", "json"],
	["application/vnd.api+json", "json"],
	["application/x-www-form-urlencoded", "form"],
	["application/x-www-form-urlencoded; charset=utf-8", "form"],
])("%s is taken as %s", (contentType, kind) => {
	expect(contentKind(contentType)).toBe(kind);
});

test.each([
	undefined,
	"",
	"json",
	"text/plain",
	"text/json",
	"application/jsonx",
	"application/json, text/plain",
	"+json",
	"multipart/form-data; boundary=x",
])("%s is not taken", (contentType) => {
	expect(contentKind(contentType)).toBe(refusals.UnsupportedContentType);
});

test.each(["iso-8859-1", "utf-16", '"latin1"', ""])(
	"charset %j is not taken",
	(charset) => {
		expect(contentKind(`application/json; charset=${charset}`)).toBe(
			refusals.UnsupportedCharset,
		);
	},
);

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
])("JSON text is stored as the bytes that came (case %#)", (text) => {
	const body = Buffer.from(text);
	expect(storedBody("json", body)).toBe(body);
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
])("what is not one JSON value is refused (case %#)", (text) => {
	expect(storedBody("json", Buffer.from(text))).toBe(refusals.InvalidJSON);
});

test.each(["22ff22", "22c080 22", "22eda080 22", "22c3"])(
	"bytes %s, not UTF-8, are refused",
	(hex) => {
		const body = Buffer.from(hex.replace(" ", ""), "hex");
		expect(storedBody("json", body)).toBe(refusals.InvalidEncoding);
	},
);

test("an empty body is refused", () => {
	expect(storedBody("json", Buffer.alloc(0))).toBe(refusals.EmptyBody);
	expect(storedBody("form", Buffer.alloc(0))).toBe(refusals.EmptyBody);
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

test("a form whose JSON outgrows a frame is refused", () => {
	const form = Buffer.from(`a=${"\u0001".repeat(1_400_000)}`);
	expect(storedBody("form", form)).toBe(refusals.BodyTooLarge);
});
