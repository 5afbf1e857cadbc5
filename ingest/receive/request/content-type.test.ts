import { expect, test } from "vitest";
import { refusals } from "./refusal.ts";
import { contentKind } from "./request-head.ts";

test.each([
	"application/x-www-form-urlencoded",
	"Application/X-WWW-Form-Urlencoded ; charset=UTF-8",
	'application/x-www-form-urlencoded;charset="utf-8"; x=1',
])("%s is a form", (contentType) => {
	expect(contentKind(contentType)).toBe("form");
});

test.each([
	undefined,
	"",
	"application/json",
	"Application/JSON ; charset=UTF-8",
	"application/cloudevents+json",
	"text/plain; charset=UTF-8",
	"text/json",
	"application/octet-stream",
	"application/json; charset=iso-8859-1",
	"multipart/form-data; boundary=x",
])("%s is accepted if the body is JSON", (contentType) => {
	expect(contentKind(contentType)).toBe("json");
});

test.each(["iso-8859-1", "utf-16", '"latin1"', ""])(
	"a form of charset %j is refused",
	(charset) => {
		expect(
			contentKind(`application/x-www-form-urlencoded; charset=${charset}`),
		).toBe(refusals.UnsupportedCharset);
	},
);
