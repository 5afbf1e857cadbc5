import { expect, test } from "vitest";
import { changeNotice, publicURLOf } from "./public-url.ts";

test.each([
	["https://abc.ngrok-free.app", "https://abc.ngrok-free.app"],
	["https://abc.ngrok-free.app/", "https://abc.ngrok-free.app"],
	[" https://t.example/in/ ", "https://t.example/in"],
	["http://localhost:8080", "http://localhost:8080"],
	["http://127.0.0.1:8080/", "http://127.0.0.1:8080"],
	["http://[::1]:8080", "http://[::1]:8080"],
	["", undefined],
	[undefined, undefined],
])("the public URL %j is %j", (text, url) => {
	expect(publicURLOf(text, "URL")).toBe(url);
});

test.each([
	["abc.ngrok-free.app", "is not a URL"],
	["http://abc.ngrok-free.app", "must begin with https://"],
	["http://localhost.example", "must begin with https://"],
	["ftp://127.0.0.1", "must begin with https://"],
	["https://t.example?a=b", "has a query or a fragment"],
	["https://t.example/#a", "has a query or a fragment"],
])("the public URL %j is refused: it %s", (text, mistake) => {
	expect(() => publicURLOf(text, "URL")).toThrow(
		`The public URL "${text}" ${mistake}`,
	);
	for (const name of ["URL", "TIDEMILL_PUBLIC_URL"] as const)
		expect(() => publicURLOf(text, name)).toThrow(
			`such as ${name}=https://abc.ngrok-free.app`,
		);
});

test("the public URL with a password is refused without showing it", () => {
	expect(() => publicURLOf("https://user:pass@t.example", "URL")).toThrow(
		/^The public URL "…@t.example" has a user or a password/,
	);
});

test("a start with another public URL says which one providers still have", () => {
	const one = "https://one.example";
	expect(changeNotice(one, "https://two.example")).toContain(
		"Webhook URLs began with https://one.example before. Providers still have those",
	);
	expect(changeNotice(one, undefined)).toContain(one);
	expect(changeNotice(one, one)).toBe("");
	// The loopback's own, which no provider can have.
	expect(changeNotice(undefined, one)).toBe("");
});
