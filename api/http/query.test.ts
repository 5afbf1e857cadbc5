import { expect, test } from "vitest";
import type { RequestError } from "./errors.ts";
import { queryOf } from "./query.ts";

const runs = { query: ["status", "limit"] };

test("known query parameters are passed on", () => {
	const given = { status: "Failed", limit: "5" };
	expect(queryOf(runs, given)).toEqual(given);
	expect(queryOf({}, {})).toEqual({});
});

const known = "Known ones are status, limit.";

test.each([
	{
		is: "unknown",
		endpoint: runs,
		given: { state: "Failed", limit: "5" },
		detail: {
			path: "state",
			message: `is not a known query parameter. ${known}`,
		},
	},
	{
		is: "unknown where there is none",
		endpoint: {},
		given: { limit: "5" },
		detail: {
			path: "limit",
			message: "is not a known query parameter. This request has none.",
		},
	},
	{
		is: "repeated",
		endpoint: runs,
		given: { status: ["Failed", "Succeeded"] },
		detail: { path: "status", message: "must not be repeated" },
	},
])("a query parameter that is $is is refused by name", (refused) => {
	const { endpoint, given, detail } = refused;
	expect(() =>
		queryOf(endpoint, given as Record<string, string | string[]>),
	).toThrow(expect.objectContaining({ status: 400, details: [detail] }));
});

test("all of them are named at once", () => {
	try {
		queryOf(runs, { a: "1", limit: ["1", "2"], b: "2" });
		expect.unreachable();
	} catch (error) {
		const { details } = error as RequestError;
		expect(details.map(({ path }) => path)).toEqual(["a", "limit", "b"]);
	}
});
