import { execFileSync } from "node:child_process";
import fastCheck from "fast-check";
import { expect, test } from "vitest";
import { curlOf, eventIdIn, prettyBody, replayOf } from "./event-text.ts";

test("a body for people is what JSON.stringify writes", () => {
	fastCheck.assert(
		fastCheck.property(fastCheck.jsonValue(), (value) => {
			const text = prettyBody(JSON.stringify(value));
			expect(text).toBe(JSON.stringify(value, undefined, 2));
		}),
	);
});

test("numbers keep their digits, and what isn't JSON its text", () => {
	expect(prettyBody('{"n":12345678901234567890.10}')).toContain(
		"12345678901234567890.10",
	);
	expect(prettyBody("a=1&b=2")).toBe("a=1&b=2");
});

test("the beginning of a large body is there at once, and nesting makes no text many times as long", () => {
	const rows = Array.from({ length: 20_000 }, (_, n) => ({ n, t: '"\\,{' }));
	const whole = JSON.stringify(rows, undefined, 2);
	const start = prettyBody(JSON.stringify(rows), 1_000);
	expect(start.length).toBeGreaterThanOrEqual(1_000);
	expect(start.length).toBeLessThan(1_100);
	expect(whole.startsWith(start)).toBe(true);
	expect(prettyBody(JSON.stringify(rows))).toBe(whole);
	const nested = "[".repeat(200_000) + "]".repeat(200_000);
	expect(prettyBody(nested)).toBe(nested);
	expect(prettyBody(nested, 1_000).length).toBeLessThan(1_100);
});

test("a shell gets each argument as it is, whatever strangers wrote", () => {
	const hostile = `'; touch /tmp/x; echo "$(id)`;
	const command = curlOf(
		{ body: hostile, headers: { "x-a": hostile }, queryParameters: {} },
		"https://example.com/hooks/a",
	);
	const printed = execFileSync(
		"sh",
		["-c", command.replace(/^curl/, "printf '%s\\n'")],
		{ encoding: "utf8" },
	);
	expect(printed.split("\n")).toEqual([
		"https://example.com/hooks/a",
		"-H",
		`x-a: ${hostile}`,
		"-H",
		"content-type: application/json",
		"--data-binary",
		hostile,
		"",
	]);
	expect(replayOf("shop", "a b")).toContain("--event 'a b'");
});

const id = "019cb0c2-7b3c-7f4e-9a51-0d6b2a4f8c11";

test.each([
	id,
	`  ${id.toUpperCase()}\n`,
	`{"is_success":true,"event_id":"${id}"}`,
	`event ${id} came`,
])("%j has an event id", (text) => {
	expect(eventIdIn(text)).toBe(id);
});

test.each(["", "orders", `${id}0`, id.slice(1), "<img src=x>"])(
	"%j has none",
	(text) => {
		expect(eventIdIn(text)).toBeUndefined();
	},
);
