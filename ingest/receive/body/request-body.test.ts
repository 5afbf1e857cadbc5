import { expect, test } from "vitest";
import {
	stored,
	storedText,
} from "../../../test/support/bodies/stored-text.ts";
import { doNow } from "../admission/long-work.ts";
import { refusals } from "../request/refusal.ts";
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
	expect(stored("json", body)).toEqual([body]);
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
	"\ufeff\ufeff{}",
	"\ufeff",
	" \ufeff{}",
	"\u00a0{}",
	" ",
	"[".repeat(1_000_000),
	'{"a":'.repeat(200_000),
])("a body that is not one JSON value is refused (case %#)", (text) => {
	expect(stored("json", Buffer.from(text))).toMatchObject({
		code: "InvalidJSON",
	});
});

test.each(["22ff22", "22c080 22", "22eda080 22", "22c3"])(
	"bytes %s are refused, as they are not UTF-8",
	(hex) => {
		const body = Buffer.from(hex.replace(" ", ""), "hex");
		expect(stored("json", body)).toBe(refusals.InvalidEncoding);
	},
);

test("an empty body is refused", () => {
	expect(stored("json", Buffer.alloc(0))).toBe(refusals.EmptyBody);
	expect(stored("form", Buffer.alloc(0))).toBe(refusals.EmptyBody);
});

test.each([
	["a=1&b=2", '{"a":"1","b":"2"}'],
	["b=1&a=2&b=3&b=", '{"b":["1","3",""],"a":"2"}'],
	["2=x&1=y&a=z", '{"2":"x","1":"y","a":"z"}'],
	["__proto__=x&constructor=y", '{"__proto__":"x","constructor":"y"}'],
	["a+b=c+d%2B&%C3%BC=%E2%82%AC", '{"a b":"c d+","ü":"€"}'],
	["ü=€", '{"ü":"€"}'],
	["?a=%00&&=&c", '{"?a":"\\u0000","":"","c":""}'],
	["\ufeffa=1", '{"\ufeffa":"1"}'],
	["NaN", '{"NaN":""}'],
	["a", '{"a":""}'],
	["true=1", '{"true":"1"}'],
	["1", '{"1":""}'],
	["'a'", `{"'a'":""}`],
	["items[0]=x&items[0]=y", '{"items[0]":["x","y"]}'],
	["%7B%22a%22%3A1%7D=", '{"{\\"a\\":1}":""}'],
	["%5B0%5D=a", '{"[0]":"a"}'],
	["&", "{}"],
])("the form %s is stored as %s", (form, json) => {
	expect(storedText("form", Buffer.from(form))).toBe(json);
});

test.each([
	'{"a":1}',
	' [1, {"b": "c=d&e"}]',
	`{"long":"${"x".repeat(200_000)}"}`,
	'"a"',
])(
	"a JSON object, array or string that is sent as a form is stored byte for byte, as JSON (case %#)",
	(text) => {
		const body = Buffer.from(text);
		const taken = doNow(jsonText("form", [body], () => true));
		expect(taken).toEqual({ kind: "json", parts: [body] });
	},
);

test.each([
	['{"order": 1,}', "1, column 13: expected a name in double quotes."],
	['{"a":1}\n{"a":2}', "2, column 1: expected the end of the body."],
	['{"a":1}=x', "1, column 8: expected the end of the body."],
	['\r\n {"a":"ü🧀" "b"', '2, column 12: expected "," or "}".'],
	['{"a":"cut', "1, column 10: expected a closing quote"],
	["[1, 2", '1, column 6: expected a digit or "," or "]", but the body ends.'],
	["{", '1, column 2: expected a name in double quotes or "}", but the body'],
	["[0]=a", "1, column 4: expected the end of the body."],
	['"a"=b', "1, column 4: expected the end of the body."],
	["<a>b</a>", "1, column 1: expected a value."],
	["\ufeff<a/>", "1, column 1: expected a value."],
	["[01]", '1, column 3: expected "," or "]".'],
	["[-]", "1, column 3: expected a digit."],
	["[1.]", "1, column 4: expected a digit."],
	["[nul]", "1, column 5: expected the rest of true, false or null."],
	['["\\x"]', '1, column 4: expected one of " \\ / b f n r t u after'],
	['["\\u00g"]', "1, column 7: expected a hexadecimal digit."],
	['{"a":[{"b":1}}', '1, column 14: expected "," or "]".'],
	["{'a':1}", '1, column 2: expected a name in double quotes or "}".'],
	['{"a" 1}', '1, column 6: expected ":".'],
	['["a\nb"]', "1, column 4: expected a closing quote (control characters"],
	[`["${"é\n".repeat(1)}`, "1, column 4: expected a closing quote"],
	[`[${"1,\n".repeat(40_000)}]`, "40001, column 1: expected a value."],
])(
	"%s isn't stored as a form: JSON is expected, and the refusal says where it isn't",
	(text, place) => {
		for (const kind of ["form", "json"] as const)
			expect(stored(kind, Buffer.from(text))).toMatchObject({
				code: "InvalidJSON",
				status: 400,
				message: expect.stringContaining(`(RFC 8259): line ${place}`),
				cause: expect.stringContaining(`line ${place}`),
			});
	},
);

test("a body of JSON's brackets that isn't UTF-8 is no form of another charset", () => {
	const form = { encoding: "windows-1252" };
	const body = Buffer.from('{"a":"\xe9"}', "latin1");
	expect(stored("form", body, undefined, form)).toBe(refusals.InvalidEncoding);
});

test("one byte order mark before JSON is taken off, wherever the body is cut", () => {
	const body = Buffer.from("\ufeff {}");
	for (let at = 0; at < body.length; at++)
		for (const kind of ["json", "form"] as const) {
			const cut = [
				body.subarray(0, 1),
				body.subarray(1, at),
				body.subarray(Math.max(at, 1)),
			];
			const taken = doNow(jsonText(kind, cut, () => true));
			if ("status" in taken) throw new Error(taken.code);
			expect(Buffer.concat(taken.parts).toString()).toBe(" {}");
		}
});

test("a form with too many fields is refused after the first 10,000, so that 15 compressed bytes don't stop every sender", () => {
	expect(stored("form", Buffer.from("a&".repeat(500_000)))).toBe(
		refusals.TooManyFields,
	);
	const most = Buffer.from("a&".repeat(10_000));
	expect(JSON.parse(storedText("form", most)).a).toHaveLength(10_000);
	expect(stored("form", Buffer.concat([most, most]))).toBe(
		refusals.TooManyFields,
	);
	// An empty field is none.
	expect(storedText("form", Buffer.from("&".repeat(100_000)))).toBe("{}");
});

test("a form whose JSON is larger than a frame is refused", () => {
	const form = Buffer.from(`a=${"\u0001".repeat(1_400_000)}`);
	expect(stored("form", form)).toMatchObject({
		code: "BodyTooLarge",
		// None that raising a limit would help.
		message:
			"The body is larger than the 8,323,072 bytes that this source accepts. Send a smaller one: no source accepts more.",
	});
});

test("a form whose JSON has no room in memory is refused as it grows", () => {
	const form = Buffer.from(`a=${"\u0001".repeat(400_000)}`);
	let taken = 0;
	const take = (bytes: number) => {
		taken += bytes;
		return taken <= 1_000_000;
	};
	expect(stored("form", form, take)).toBe(refusals.Overloaded);
	expect(taken).toBeLessThan(1_200_000);
});

test("a long form becomes the same JSON, wherever it is cut into pieces", () => {
	const value = "ü%F0%9F%A7%80+%zz%".repeat(9_000);
	const name = "é%C3%A9\u{1F600}".repeat(3_000);
	const form = Buffer.from(`${name}=${value}&b=%00&${name}=x&${name}y=z`);
	const decodedName = "éé\u{1F600}".repeat(3_000);
	const decodedValue = "ü\u{1F9C0} %zz%".repeat(9_000);
	expect(
		storedText("form", form) ===
			JSON.stringify({
				[decodedName]: [decodedValue, "x"],
				b: "\0",
				[`${decodedName}y`]: "z",
			}),
	).toBe(true);
	// One name, written in two ways, of which one is long.
	const two = Buffer.from(`${"%61".repeat(12_000)}=1&${"a".repeat(12_000)}=2`);
	expect(Object.values(JSON.parse(storedText("form", two)))).toEqual([
		["1", "2"],
	]);
});
