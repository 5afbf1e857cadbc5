import { githubPayloads } from "../../support/examples/github-payloads.ts";
import type { SeededChoices } from "./choices.ts";

/* Bodies of webhooks, most of them valid JSON: made by JSON's grammar, and real ones with changes. */

/** As much as a request of tests may hold, so that a hundred thousand fit. */
const maxFixtureBytes = 6_000;

/** Real payloads and the objects in them, as texts. */
const fixtures: readonly string[] = githubPayloads()
	.flatMap(({ value }) => [value, ...Object.values(value as object)])
	.filter((part) => typeof part === "object" && part !== null)
	.map((part) => JSON.stringify(part))
	.filter((text) => text.length > 20 && text.length < maxFixtureBytes);

export function makeBody(random: SeededChoices): string {
	const body = random.is(0.3) ? changedFixture(random) : madeBody(random);
	if (!random.is(0.02)) return body;
	// One byte of it is another one, or isn't there.
	const at = random.below(body.length);
	const other = random.of(["", ",", '"', "}", "\\", "0", "\u0001"]);
	return body.slice(0, at) + other + body.slice(at + 1);
}

function changedFixture(random: SeededChoices): string {
	let text = random.of(fixtures);
	for (let changes = random.below(5); changes > 0; changes--) {
		const tokens = [...text.matchAll(tokenForm)];
		const { index, 0: token } = random.of(tokens);
		const isName = /^\s*:/.test(text.slice(index + token.length));
		const before = text.slice(0, index);
		const after = text.slice(index + token.length);
		text = isName
			? before + changedName(token, random) + after
			: before + spaced(value(random, 2), random) + after;
	}
	return text;
}

const tokenForm =
	/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/g;

/** Again with another value before it, or written with an escape. */
function changedName(name: string, random: SeededChoices): string {
	return random.is(0.5)
		? `${name}:${random.below(1e9)}.5,${name}`
		: escaped(name);
}

/** The members that columns read, and others. */
function madeBody(random: SeededChoices): string {
	if (random.is(0.03)) return spaced(value(random, 3), random);
	const members = [["v", value(random, 2)]];
	if (random.is(0.1)) members.unshift(["v", `${random.below(1e9)}.25`]);
	if (random.is(0.4)) members.push(["n", `{"v":${value(random, 1)}}`]);
	if (random.is(0.3)) members.push(["a/b~", value(random, 1)]);
	if (random.is(0.3)) members.push(["list", `[${value(random, 1)}]`]);
	if (random.is(0.3)) members.push([random.of(names), value(random, 3)]);
	if (random.is(0.005)) members.push(["deep", deep(random)]);
	if (random.is(0.002))
		for (let index = 0; index < 2_000; index++)
			members.push([`m${index}`, String(index)]);
	const order = random.is(0.5) ? members : members.toReversed();
	const text = order
		.map(([name, json]) => `${writtenName(name!, random)}:${json}`)
		.join(",");
	return spaced(`{${text}}`, random);
}

/** Hundreds of values inside each other. */
function deep(random: SeededChoices): string {
	const depth = 1 + random.below(400);
	const [open, close] = random.of([
		["[", "]"],
		['{"v":', "}"],
	] as const);
	return open.repeat(depth) + value(random, 0) + close.repeat(depth);
}

function writtenName(name: string, random: SeededChoices): string {
	const text = JSON.stringify(name);
	return random.is(0.05) && /^"\w/.test(text) ? escaped(text) : text;
}

/** With its first character as an escape. */
function escaped(text: string): string {
	return `"\\u${text.charCodeAt(1).toString(16).padStart(4, "0")}${text.slice(2)}`;
}

const names = [
	"V",
	"v ",
	"n.v",
	"n/v",
	"a",
	"a/b",
	"a~1b~0",
	"0",
	"__proto__",
	"",
	"ü",
	"\u{1f600}",
	"a.b",
	"$",
	"[0]",
	"constructor",
];

/** White space around, which belongs to no value. */
function spaced(json: string, random: SeededChoices): string {
	const space = () => random.of(["", "", "", " ", "\n", "\t \r\n"]);
	return `${space()}${json}${space()}`;
}

function value(random: SeededChoices, depth: number): string {
	const kind = random.next();
	if (kind < 0.3) return number(random);
	if (kind < 0.45) return quoted(number(random));
	if (kind < 0.5) return sinceEpoch(random);
	if (kind < 0.6) return quoted(random.is(0.7) ? time(random) : mail(random));
	if (kind < 0.75) return text(random);
	if (kind < 0.85) return random.of(["true", "false", "null"]);
	if (kind < 0.88) return random.of(['"true"', '"false"', '"null"', '"NaN"']);
	if (depth === 0) return random.of(["[]", "{}", "[ ]", "{ }"]);
	const count = random.below(4);
	if (kind < 0.94)
		return `[${random.times(count, () => spaced(value(random, depth - 1), random)).join(",")}]`;
	const member = () =>
		`${random.is(0.8) ? quoted(random.of(["v", "w", ...names])) : text(random)}:${value(random, depth - 1)}`;
	return `{${random.times(count, member).join(",")}}`;
}

function quoted(text: string): string {
	return JSON.stringify(text);
}

const whole = [
	...[
		"0",
		"-0",
		"1",
		"-1",
		"12",
		"42",
		"9007199254740993",
		"-9007199254740993",
	],
	...["9223372036854775807", "9223372036854775808", "-9223372036854775808"],
	...["-9223372036854775809", "18446744073709551615", "12345678901234567"],
	"170141183460469231731687303715884105728",
];

function number(random: SeededChoices): string {
	const digits = (count: number) =>
		random.times(count, () => random.below(10)).join("");
	const integer = random.is(0.6)
		? random.of(whole)
		: `${random.of(["", "-"])}${1 + random.below(9)}${digits(random.below(random.is(0.1) ? 60 : 18))}`;
	const fraction = random.is(0.4)
		? `.${random.is(0.4) ? random.of(["0", "00", "10", "5", "89", "99", "000000001"]) : digits(1 + random.below(random.is(0.1) ? 40 : 6))}`
		: "";
	const exponent = random.is(0.2)
		? `${random.of(["e", "E"])}${random.of(["", "+", "-"])}${random.of([0, 1, 2, 3, 17, 30, 308, 400, "05"])}`
		: "";
	return integer + fraction + exponent;
}

/** Times that clocks in Berlin skip or show twice, and the first and last of them. */
const clockChanges = [
	...["2026-03-29 01:59:59", "2026-03-29 02:00", "2026-03-29T02:30:00.5"],
	...["2026-03-29 03:00:00", "2026-10-25 01:59:59", "2026-10-25T02:00:00"],
	...["2026-10-25 02:59:59.999999", "2026-10-25 03:00"],
];

/** Dates and times as senders write them, and what is nearly one. */
function time(random: SeededChoices): string {
	const two = (end: number, from = 0) =>
		String(from + random.below(end)).padStart(2, "0");
	const year = random.is(0.9)
		? String(1990 + random.below(60))
		: random.of(["0001", "9999", "0000", "1969", "1582"]);
	if (random.is(0.05)) return random.of(clockChanges);
	const date = `${year}-${two(random.is(0.95) ? 12 : 15, 1)}-${two(random.is(0.9) ? 28 : 32, 1)}`;
	if (random.is(0.2)) return date;
	const clock = random.is(0.1)
		? random.of([
				"24:00:00",
				"23:59:60",
				"23:59:59.999999",
				"25:00:00",
				"12:00",
			])
		: `${two(24)}:${two(60)}:${two(60)}`;
	const fraction = random.is(0.3)
		? `.${random.times(1 + random.below(9), () => random.below(10)).join("")}`
		: "";
	const offset = random.is(0.6)
		? random.of(["Z", "Z", "z", "+00:00", "-00:00"])
		: random.of([
				"+02:00",
				"-05:30",
				"+0000",
				"-0330",
				"+01",
				"-08",
				"+14:00",
				"",
				"+2:00",
			]);
	return `${date}${random.of(["T", "T", "T", "t", " "])}${clock}${fraction}${offset}`;
}

/** A number of seconds or milliseconds, of these years or of where one unit could be the other. */
function sinceEpoch(random: SeededChoices): string {
	const most = random.of([1e5, 1e8, 1e9, 4e9, 1e10, 1e11, 4e12, 253402300800]);
	const number = `${random.of(["", "", "", "-"])}${random.is(0.2) ? most : random.below(most)}`;
	const written = number + random.of(["", "", ".0", ".25", ".0000009", "e3"]);
	return random.is(0.3) ? quoted(written) : written;
}

/** Dates as in mails, and what is nearly one. */
function mail(random: SeededChoices): string {
	const months = ["Jan", "feb", "MAR", "Apr", "May", "Jun", "Jul", "Sept"];
	const weekday = random.of(["", "", "Sun, ", "mon,", "Tue , ", "Xyz, "]);
	const day = random.of(["1", "01", "28", "30", "31", "32"]);
	const year = random.of(["2026", "1999", "0001", "9999", "2024"]);
	const clock = random.of([
		"12:00",
		"23:59:60",
		"00:00:00",
		"24:00:00",
		"7:00",
	]);
	const zone = random.of([
		"GMT",
		"EST",
		"+0000",
		"-0530",
		"+0060",
		"CET",
		"",
		"-0000 (a (b) c)",
	]);
	const space = random.of([" ", "  ", " (Newfoundland) ", "\r\n\t"]);
	return `${weekday}${day} ${random.of(months)}${space}${year} ${clock} ${zone}`;
}

function text(random: SeededChoices): string {
	const part = () =>
		random.of([
			...[
				"a",
				"Z",
				"0",
				" ",
				".",
				"ü",
				"漢",
				"\u{1f600}",
				"\u2028",
				"'",
				"%s",
				"$.",
			],
			...["\\n", "\\\\", '\\"', "\\/", "\\u00e9", "\\ud83d\\ude00", "\\u0001"],
		]);
	const odd = random.is(0.06)
		? random.of(["\\ud83c", "\\udc00", "\\uD800x", "\\u0000", "\\udc00\\ud800"])
		: "";
	return `"${random.times(random.below(8), part).join("")}${odd}${random.is(0.5) ? part() : ""}"`;
}
