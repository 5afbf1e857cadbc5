import { expect, test } from "vitest";
import { refusals } from "./refusal.ts";
import { formType } from "./request-head.ts";

test.each([
	["application/x-www-form-urlencoded", {}],
	["Application/X-WWW-Form-Urlencoded ; charset=UTF-8", { encoding: "utf-8" }],
	[
		'application/x-www-form-urlencoded;charset="utf-8"; x=1',
		{ encoding: "utf-8" },
	],
	[
		'application/x-www-form-urlencoded; x="; charset=utf-16"; Charset=latin1',
		{ encoding: "windows-1252" },
	],
	[
		"application/x-www-form-urlencoded; charset=US-ASCII; charset=utf-16",
		{ encoding: "utf-8" },
	],
	[
		"application/x-www-form-urlencoded; charset='ISO-8859-1'",
		{ encoding: "windows-1252" },
	],
	["application/x-www-form-urlencoded; charset=", {}],
	['application/x-www-form-urlencoded; charset=""', {}],
	["multipart/form-data; boundary=x", { multipart: { boundary: "x" } }],
	[
		'Multipart/Form-Data; charset=big5; boundary="a \\"b"',
		{ encoding: "big5", multipart: { boundary: 'a "b' } },
	],
	["multipart/form-data", { multipart: {} }],
	["multipart/mixed; boundary=x", { multipart: {} }],
])("%s is a form", (contentType, form) => {
	expect(formType(contentType)).toEqual(form);
});

test.each([
	["CP932", "shift_jis"],
	["ms932", "shift_jis"],
	["Windows-31J", "shift_jis"],
	["cp936", "gbk"],
	["MS949", "euc-kr"],
	["windows-949", "euc-kr"],
	["cp950", "big5"],
	["cp1252", "windows-1252"],
	["windows-54936", "gb18030"],
	["utf_8", "utf-8"],
	["ISO_8859_1", "windows-1252"],
	["cp65001", "utf-8"],
])("charset %s is %s", (charset, encoding) => {
	expect(
		formType(`application/x-www-form-urlencoded; charset=${charset}`),
	).toEqual({ encoding });
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
	"application/x-ndjson",
])("%s is accepted if the body is JSON", (contentType) => {
	expect(formType(contentType)).toBeUndefined();
});

test.each([
	"utf-16",
	"utf-16le",
	"iso-2022-jp",
	"iso-2022-kr",
	"hz-gb-2312",
	"replacement",
	"x-user-defined",
	"utf-7",
	"utf-32",
	"banana",
	"cp437",
	"cp1200",
	"ms1",
])("a form of charset %j is refused", (charset) => {
	expect(
		formType(`application/x-www-form-urlencoded; charset=${charset}`),
	).toBe(refusals.UnsupportedCharset);
});
