import { expect, test } from "vitest";
import { refusals } from "../answer/refusal.ts";
import { contentKind } from "./content-type.ts";

test.each([
	["application/json", "json"],
	["Application/JSON ; charset=UTF-8", "json"],
	['application/json;charset="utf-8"', "json"],
	["application/cloudevents+json; charset=utf8; x=1", "json"],
	["application/vnd.api+json", "json"],
	["application/x-www-form-urlencoded", "form"],
	["application/x-www-form-urlencoded; charset=utf-8", "form"],
])("%s is accepted as %s", (contentType, kind) => {
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
])("%s is refused", (contentType) => {
	expect(contentKind(contentType)).toBe(refusals.UnsupportedContentType);
});

test.each(["iso-8859-1", "utf-16", '"latin1"', ""])(
	"charset %j is refused",
	(charset) => {
		expect(contentKind(`application/json; charset=${charset}`)).toBe(
			refusals.UnsupportedCharset,
		);
	},
);
