import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { hostileTexts } from "../../test/support/strangers/hostile-texts.ts";
import { csvLine } from "./csv.ts";
import { htmlText, jinjaText, markdownText, slackText } from "./markup.ts";
import { shellWord } from "./shell.ts";
import { lineForTerminal, linesForTerminal } from "./terminal.ts";
import { yamlText } from "./yaml.ts";

/** What a terminal carries out or shows in another place, as characters. */
const unsafe = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/u;
const unsafeInLines = new RegExp(`(?![\\n\\t])${unsafe.source}`, "u");

test("a shell gets each text as one argument, whatever stands in it, and carries nothing out", () => {
	const words = hostileTexts.map(shellWord);
	const said = execFileSync(
		"sh",
		["-c", `printf '%s\\036' -- ${words.join(" ")}`],
		{ encoding: "utf8", env: { HOME: "/home" } },
	);
	expect(said.split("\u001e").slice(1, -1)).toEqual(hostileTexts);
	expect(existsSync("/tmp/tidemill-was-here")).toBe(false);
});

test("a command that somebody pastes has nothing that a terminal carries out, quoted or not", () => {
	for (const text of hostileTexts)
		expect(shellWord(text).replaceAll("\n", "")).not.toMatch(unsafe);
});

test.each([
	["orders", "orders"],
	["https://example.com/a,b:c@d", "https://example.com/a,b:c@d"],
	["--name=a", "--name=a"],
	["", "''"],
	["=ls", "'=ls'"],
	["it's", "'it'\\''s'"],
	["a\\", "'a'\\\\''"],
	["a\0b", "'ab'"],
	["a\u001b[2Jb", "'a'\"$(printf '\\033')\"'[2Jb'"],
])("the word of a shell for %j is %s", (text, word) => {
	expect(shellWord(text)).toBe(word);
});

test("YAML holds each text as it is, as a value and as a name, for readers of 1.2 and 1.1", () => {
	const value = {
		list: [...hostileTexts],
		named: Object.fromEntries(hostileTexts.map((text) => [text, text])),
	};
	const text = yamlText(value);
	expect(text).not.toMatch(unsafeInLines);
	// PyYAML stops at a tab.
	expect(text).not.toContain("\t");
	for (const version of ["1.2", "1.1"] as const)
		expect(parse(text, { version, merge: false })).toEqual(value);
});

test("YAML has no anchor for an object that stands in two places", () => {
	const same = { a: 1 };
	expect(yamlText({ b: same, c: same })).toBe("b:\n  a: 1\nc:\n  a: 1\n");
});

/** The fields of one record (RFC 4180 §2). */
function cellsOf(line: string): string[] {
	return [...line.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(?:,|\r\n)/g)].map(
		([, quoted, bare = ""]) => quoted?.replaceAll('""', '"') ?? bare,
	);
}

test("no cell of CSV begins as a formula, and the text stands behind an apostrophe", () => {
	const cells = cellsOf(csvLine(hostileTexts));
	expect(cells.filter((cell) => /^[\s]*[=+\-@＝＋－＠]/.test(cell))).toEqual(
		[],
	);
	expect(cells.filter((cell) => /^[\t\r\n]/.test(cell))).toEqual([]);
	const bare = (text: string) => text.replaceAll("'", "");
	expect(cells.map(bare)).toEqual(hostileTexts.map(bare));
});

test.each([
	["-5", "-5\r\n"],
	["+1.5e-3", "+1.5e-3\r\n"],
	["-1+1", "'-1+1\r\n"],
	["{}", "{}\r\n"],
	["a;=1", `"a;'=1"\r\n`],
	[null, "\r\n"],
	["", '""\r\n'],
])("the record of %j is %j", (cell, line) => {
	expect(csvLine([cell])).toBe(line);
});

test("HTML shows each text, and no tag or attribute begins in it", () => {
	for (const text of hostileTexts) {
		const html = htmlText(text);
		expect(html).not.toMatch(/[<>"']/);
		const shown = html.replace(
			/&(amp|lt|gt|quot|#39);/g,
			(_, name: string) =>
				({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" })[name]!,
		);
		expect(shown).toBe(text);
	}
});

test("Jinja renders each text as it is, and begins nothing in it", () => {
	const own = "{{ '{' }}";
	for (const text of hostileTexts) {
		const template = jinjaText(text);
		const others = template.replaceAll(own, "\u0000");
		expect(others).not.toMatch(/\{[{%#]/);
		expect(others.replaceAll("\u0000", "{")).toBe(text);
	}
});

test.each([
	["order/paid", "order/paid"],
	["/data/unit_amount", "/data/unit_amount"],
	["_a_", "`_a_`"],
	["*a*", "`*a*`"],
	["<b>", "`<b>`"],
	["a`b", "``a`b``"],
	["`a`", "`` `a` ``"],
	["a\n\n# b", "`a\\u000a\\u000a# b`"],
])("Markdown shows %j by %j", (text, markdown) => {
	expect(markdownText(text)).toBe(markdown);
});

test.each([
	["<!channel> & more", "&lt;!channel&gt; &amp; more"],
	["@here", "@\u200bhere"],
	["a\n:red_circle: *b*", "a :red_circle: *b*"],
	["\u202ea", "\\u202ea"],
])("Slack shows %j by %j", (text, message) => {
	expect(slackText(text)).toBe(message);
});

test("a terminal gets no character that it carries out, in lines or in one", () => {
	for (const text of hostileTexts) {
		expect(linesForTerminal(text)).not.toMatch(unsafeInLines);
		expect(lineForTerminal(text)).not.toMatch(unsafe);
	}
});
