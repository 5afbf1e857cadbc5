import { expect, test } from "vitest";
import {
	stored,
	storedText,
} from "../../../test/support/bodies/stored-text.ts";
import { refusals } from "../request/refusal.ts";

const boundary = "AaB03x";
const form = { multipart: { boundary } };
const latin1 = (text: string) => Buffer.from(text, "latin1");
const field = (name: string, value: string, more = "") =>
	`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const lines = (lineEnd: string, text: string) =>
	text.replaceAll("\r\n", lineEnd);
const end = `--${boundary}--`;

test("what fetch sends of a FormData becomes the JSON object of its fields", async () => {
	const data = new FormData();
	const fields = [
		["b", "1\r\n2"],
		["__proto__", "x"],
		['q"uo\r\nte', "é🧀"],
		["2", ""],
		["b", "--AaB03x"],
		["1", "a=b&c+%20"],
		["b", ""],
	] as const;
	for (const [name, value] of fields) data.append(name, value);
	const sent = new Response(data);
	const type = sent.headers.get("content-type")!;
	const body = Buffer.from(await sent.arrayBuffer());
	const multipart = { boundary: type.split("boundary=")[1]! };
	expect(storedText("form", body, { multipart })).toBe(
		'{"b":["1\\r\\n2","--AaB03x",""],"__proto__":"x","q\\"uo\\r\\nte":"é🧀","2":"","1":"a=b&c+%20"}',
	);
});

test.each([
	[end, "{}"],
	[`${field("a", "1")}${end}`, '{"a":"1"}'],
	[`${field("a", "1")}${end}\r\nepilogue`, '{"a":"1"}'],
	[`preamble {\r\n${field("a", "1")}${end}`, '{"a":"1"}'],
	[`{ preamble\r\n${field("a", "1")}${end}`, '{"a":"1"}'],
	[`\r\n${field("a", "1")}${end}`, '{"a":"1"}'],
	[field("a", "1").replace("x\r", "x \t\r") + end, '{"a":"1"}'],
	[`${field("a", "\r\n--AaB03xy")}${end}`, '{"a":"\\r\\n--AaB03xy"}'],
	[`${field("a", "\r\n--AaB03x--y")}${end}`, '{"a":"\\r\\n--AaB03x--y"}'],
	[`${field("a", "x--AaB03x")}${end}`, '{"a":"x--AaB03x"}'],
	[`${field("a", "1\n")}${end}\n`, '{"a":"1\\n"}'],
	[`${field("a", "1")}${end} \t`, '{"a":"1"}'],
	[` \r\n${end}`, "{}"],
	[
		`--${boundary}\r\ncontent-disposition:form-data;\r\n name=a\r\n\r\n1\r\n${end}`,
		'{"a":"1"}',
	],
	[
		`--${boundary}\r\nContent-Type: application/json\r\nContent-Disposition: form-data; x="; filename=f"; name="a\\"b"\r\n\r\n{}\r\n${end}`,
		'{"a\\"b":"{}"}',
	],
	[
		`--${boundary}\r\nContent-Disposition: form-data; name=a\r\n\r\n${end}`,
		'{"a":""}',
	],
	[`${field("a", "", '; filename=""')}${end}`, '{"a":""}'],
	['{"a":1}', '{"a":1}'],
])("%j becomes %s", (body, json) => {
	expect(storedText("form", Buffer.from(body), form)).toBe(json);
});

test.each<[string, keyof typeof refusals]>([
	["a=1", "InvalidMultipart"],
	[`--${boundary}`, "InvalidMultipart"],
	[field("a", "1"), "InvalidMultipart"],
	[`${field("a", "1")}--${boundary}x--`, "InvalidMultipart"],
	// What a reader of one kind of line end would lose.
	[lines("\n", field("a", "1") + end), "InvalidMultipart"],
	[lines("\r", field("a", "1") + end), "InvalidMultipart"],
	[lines("\n", field("a", "1")) + field("b", "2") + end, "InvalidMultipart"],
	[field("a", "1") + lines("\n", field("b", "2")) + end, "InvalidMultipart"],
	[field("a", "1") + lines("\r", field("b", "2")) + end, "InvalidMultipart"],
	[
		field("a", "1") + field("b", "2\n").replace("2\n\r", "2") + end,
		"InvalidMultipart",
	],
	[
		field("a", "1").replace("x\r", "x\n").replace("\n\n", "\n") + end,
		"InvalidMultipart",
	],
	[
		field("a", "1", "\nX: y").replace("\r\n\r\n", "\n\n") +
			field("b", "2") +
			end,
		"InvalidMultipart",
	],
	[
		field("a", "1") +
			field("b", "2").replace("x\r", `x${" ".repeat(101)}\r`) +
			end,
		"InvalidMultipart",
	],
	[`a=1\r\n${end}`, "InvalidMultipart"],
	[`a ${field("a", "1")}${field("b", "2")}${end}`, "InvalidMultipart"],
	[`--${boundary}y\r\n${field("b", "2")}${end}`, "InvalidMultipart"],
	[`${field("a", "1")}${end}\r\n${field("b", "2")}${end}`, "InvalidMultipart"],
	[
		`--${boundary}\r\nContent-Disposition: form-data; name=a\r\n${field("b", "2")}${end}`,
		"InvalidMultipart",
	],
	[`--${boundary}\r\n${field("b", "2")}${end}`, "InvalidMultipart"],
	[`--${boundary}\r\n\r\n1\r\n${end}`, "InvalidMultipart"],
	[
		`--${boundary}\r\nContent-Disposition: form-data\r\n\r\n1\r\n${end}`,
		"InvalidMultipart",
	],
	[
		`--${boundary}\r\nContent-Disposition: attachment; name=a\r\n\r\n1\r\n${end}`,
		"InvalidMultipart",
	],
	[`${field("a", "1", `; x=${"y".repeat(10_000)}`)}${end}`, "InvalidMultipart"],
	[`${field("a", "1", '; filename="f"')}${end}`, "UnsupportedMultipart"],
	[`${field("a", "", '; filename="f"')}${end}`, "UnsupportedMultipart"],
	[`${field("a", "1", '; filename=""')}${end}`, "UnsupportedMultipart"],
	[`${field("a", "1", "; filename*=UTF-8''f")}${end}`, "UnsupportedMultipart"],
	[
		`${field("a", "1", "\r\nContent-Type: multipart/mixed; boundary=b")}${end}`,
		"UnsupportedMultipart",
	],
	[
		`${field("a", "MQ==", "\r\nContent-Transfer-Encoding: base64")}${end}`,
		"UnsupportedMultipart",
	],
	[
		`${field("a", "1", "\r\nContent-Type: text/plain; charset=utf-16")}${end}`,
		"UnsupportedCharset",
	],
	[field("a", "1").repeat(1_001) + end, "TooManyFields"],
])("%j is refused: %s", (body, code) => {
	expect(stored("form", Buffer.from(body), undefined, form)).toBe(
		refusals[code],
	);
});

test("1,000 parts are taken, and without a boundary or as another type of multipart none", () => {
	const most = Buffer.from(field("a", "1").repeat(1_000) + end);
	expect(JSON.parse(storedText("form", most, form)).a).toHaveLength(1_000);
	expect(stored("form", most, undefined, { multipart: {} })).toBe(
		refusals.UnsupportedMultipart,
	);
});

test("a part's charset, the type's, or a field's says how bytes that aren't UTF-8 are decoded", () => {
	const own = "\r\nContent-Type: text/plain; charset=windows-1251";
	const body = latin1(`${field("a", "\xcf", own)}${field("b", "\xe9")}`);
	const last = latin1(end);
	const named = latin1(field("_charset_", "windows-1252"));
	expect(
		storedText("form", Buffer.concat([body, last]), {
			...form,
			encoding: "windows-1252",
		}),
	).toBe('{"a":"П","b":"é"}');
	expect(storedText("form", Buffer.concat([body, named, last]), form)).toBe(
		'{"a":"П","b":"é","_charset_":"windows-1252"}',
	);
	expect(stored("form", Buffer.concat([body, last]), undefined, form)).toBe(
		refusals.UnsupportedCharset,
	);
});
