import { expect, test } from "vitest";
import { publicURLOf } from "./public-url.ts";

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
	expect(publicURLOf(text)).toBe(url);
});

test.each([
	["abc.ngrok-free.app", "is not a URL"],
	["http://abc.ngrok-free.app", "must begin with https://"],
	["http://localhost.example", "must begin with https://"],
	["ftp://127.0.0.1", "must begin with https://"],
	["https://t.example?a=b", "has a query or a fragment"],
	["https://t.example/#a", "has a query or a fragment"],
	["https://user:p@t.example", "has a user or a password"],
])("the public URL %j is refused: it %s", (text, mistake) => {
	expect(() => publicURLOf(text)).toThrow(
		`The public URL "${text}" ${mistake}`,
	);
	expect(() => publicURLOf(text)).toThrow(
		"TIDEMILL_PUBLIC_URL=https://abc.ngrok-free.app",
	);
});
