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
	"\ufeff{}",
	"\u00a0{}",
	" ",
	"[".repeat(1_000_000),
	'{"a":'.repeat(200_000),
])("a body that is not one JSON value is refused (case %#)", (text) => {
	expect(stored("json", Buffer.from(text))).toBe(refusals.InvalidJSON);
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
	["a=%FF", '{"a":"\ufffd"}'],
	["&", "{}"],
])("the form %s is stored as %s", (form, json) => {
	expect(storedText("form", Buffer.from(form))).toBe(json);
});

test.each([
	'{"a":1}',
	' [1, {"b": "c=d&e"}]',
	`{"long":"${"x".repeat(200_000)}"}`,
])(
	"a JSON object or array that is sent as a form is stored byte for byte, as JSON (case %#)",
	(text) => {
		const body = Buffer.from(text);
		const taken = doNow(jsonText("form", [body], () => true));
		expect(taken).toEqual({ kind: "json", parts: [body] });
	},
);

test.each([
	['{"a":1}=x', '{"{\\"a\\":1}":"x"}'],
	["[0]=a", '{"[0]":"a"}'],
	["{", '{"{":""}'],
	["1", '{"1":""}'],
	['"a"', '{"\\"a\\"":""}'],
])(
	"the form %s, which is no JSON object or array, stays a form",
	(form, json) => {
		const taken = doNow(jsonText("form", [Buffer.from(form)], () => true));
		if ("status" in taken) throw new Error(taken.code);
		expect(taken.kind).toBe("form");
		expect(Buffer.concat(taken.parts).toString()).toBe(json);
	},
);

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
	expect(stored("form", form)).toBe(refusals.BodyTooLarge);
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
