import { expect, test } from "vitest";
import {
	stored,
	storedText,
} from "../../../test/support/bodies/stored-text.ts";
import { refusals } from "../request/refusal.ts";
import { encodingOf } from "./charset.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");

/** Every label that the Encoding standard allows for these, and a text of each with its bytes in hexadecimal. */
const texts: [label: string, hex: string, text: string][] = [
	["windows-1252", "4a6f73e92080", "José €"],
	["ISO-8859-1", "e9", "é"],
	["latin1", "e9", "é"],
	["iso-8859-15", "a4", "€"],
	["windows-1251", "cff0e8e2e5f2", "Привет"],
	["koi8-r", "f0d2c9d7c5d4", "Привет"],
	["ibm866", "8fe0a8a2a5e2", "Привет"],
	["iso-8859-7", "c1e8deede1", "Αθήνα"],
	["windows-1256", "e3d1cdc8c7", "مرحبا"],
	["macintosh", "8e", "é"],
	["shift_jis", "93fa967b835c5c", "日本ソ\\"],
	["windows-31j", "8740", "①"],
	["euc-jp", "c6fccbdc", "日本"],
	["euc-kr", "c7d1b1db", "한글"],
	["gb2312", "d6d0cec4", "中文"],
	["gbk", "c1aacda8", "联通"],
	["gb18030", "8130813081308130", "\u0080\u0080"],
	["big5", "a4a4a4e5", "中文"],
];

test.each(texts)("a form of charset %s has its text", (label, hex, text) => {
	const encoding = encodingOf(label)!;
	const raw = Buffer.from(hex, "hex");
	const percent = hex.replace(/../g, "%$&");
	const json = JSON.stringify({ a: text, [text]: "b" });
	for (const bytes of [
		Buffer.concat([latin1("a="), raw, latin1("&"), raw, latin1("=b")]),
		latin1(`a=${percent}&${percent}=b`),
	])
		expect(storedText("form", bytes, { encoding })).toBe(json);
	for (const name of ["charset", "_charset_", "%63harset"]) {
		const form = latin1(`x=${percent}&${name}=${label}`);
		const named = JSON.parse(storedText("form", form));
		expect(named.x).toBe(text);
	}
});

test("each charset that is decoded keeps ASCII", () => {
	const ascii = latin1(
		Array.from(
			{ length: 128 },
			(_, code) => `%${code.toString(16).padStart(2, "0")}`,
		).join(""),
	);
	for (const [label] of texts)
		expect(
			JSON.parse(
				storedText("form", Buffer.concat([latin1("a="), ascii]), {
					encoding: encodingOf(label)!,
				}),
			).a,
		).toBe(String.fromCharCode(...Array(128).keys()));
});

test.each([
	["%E9", undefined],
	["%E9&charset=utf-8", undefined],
	["%E9&charset=utf-16", undefined],
	["%E9&charset=iso-2022-jp", undefined],
	["%E9&charset=banana", undefined],
	["%E9&charset=", undefined],
	["%E9&charset=latin1", "utf-8"],
	["%81", "shift_jis"],
	["%ff", "euc-kr"],
	["%d2", "windows-1253"],
	[`${"x".repeat(20_000)}%81`, "gbk"],
	[`${"x".repeat(20_000)}%E9`, undefined],
])(
	"bytes that are no text of their charset are refused, never replaced: %s as %s",
	(form, encoding) => {
		const type = encoding === undefined ? {} : { encoding };
		expect(stored("form", latin1(`a=${form}`), undefined, type)).toBe(
			refusals.UnsupportedCharset,
		);
	},
);

test("a form in UTF-8 stays that, whatever a field of it is called", () => {
	expect(storedText("form", Buffer.from("a=é&charset=latin1"))).toBe(
		'{"a":"é","charset":"latin1"}',
	);
	expect(storedText("form", latin1("a=%C3%A9&_charset_=banana"))).toBe(
		'{"a":"é","_charset_":"banana"}',
	);
});

test("a long value of another charset is decoded across its pieces", () => {
	const value = "%93%fa%96{".repeat(20_000);
	expect(
		JSON.parse(
			storedText("form", latin1(`a=${value}`), { encoding: "shift_jis" }),
		).a,
	).toBe("日本".repeat(20_000));
});
