import { expect, test } from "vitest";
import { tokenNameError, tokenRequest, tokenUsage } from "./token-form.ts";

test.each([
	["", "Give the token a name."],
	["Airflow", "A name has 1 to 40"],
	["-a", "A name has 1 to 40"],
	["a-", "A name has 1 to 40"],
	["a".repeat(41), "A name has 1 to 40"],
	["a", undefined],
	["air-flow2", undefined],
	["a".repeat(40), undefined],
])("the name %j is %s", (name, message) => {
	const error = tokenNameError(name);
	if (message) expect(error).toContain(message);
	else expect(error).toBeUndefined();
});

test("the request has the chosen time in seconds", () => {
	expect(tokenRequest({ name: "a", scope: "run", expiry: "86400" })).toEqual({
		name: "a",
		scope: "run",
		expiresInSeconds: 86_400,
	});
});

test("the command asks the API that the console is served by", () => {
	expect(tokenUsage("https://t.example/v1", "ey.J")).toBe(
		"curl -sS -H 'Authorization: Bearer ey.J' 'https://t.example/v1/pipelines'",
	);
});
