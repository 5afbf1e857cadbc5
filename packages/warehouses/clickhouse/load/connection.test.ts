import { expect, test } from "vitest";
import { requireSuitable, type ServerFacts } from "./connection.ts";
import { serverFailure } from "./failure.ts";

const facts: ServerFacts = {
	version: "24.8.14.39",
	databaseEngine: "Atomic",
	shards: undefined,
};
const of =
	(change: Partial<ServerFacts>, cluster?: string, needsJSON = false) =>
	() =>
		requireSuitable(
			{ ...facts, ...change },
			{ database: "shop", ...(cluster && { cluster }) },
			needsJSON,
		);

test.each<[() => void]>([
	[of({})],
	[of({ version: "26.9.2.1" }, undefined, true)],
	[of({ version: "25.3.1.1" }, undefined, true)],
	[of({ databaseEngine: "Replicated", shards: 1 }, "main")],
	[of({ databaseEngine: "Shared" })],
])("a server is suitable: %#", (require) => {
	require();
});

test.each<[() => void, code: string, words: string]>([
	[of({ version: "24.7.9.1" }), "ClickHouseTooOld", "24.7.9.1"],
	[
		of({ version: "25.2.1.1" }, undefined, true),
		"TableIncompatible",
		"25.2.1.1",
	],
	[of({ databaseEngine: undefined }), "DatabaseMissing", '"shop"'],
	[of({ databaseEngine: "Ordinary" }), "DatabaseUnsuitable", "Ordinary"],
	[of({ shards: 2 }, "main"), "ClusterUnsuitable", "2 shards"],
	[of({ shards: 0 }, "nope"), "ClusterUnsuitable", 'no cluster "nope"'],
])(
	"a server isn't, and the message says what it is: %#",
	(require, code, words) => {
		expect(require).toThrow(
			expect.objectContaining({
				code,
				message: expect.stringContaining(words),
			}),
		);
	},
);

test.each<
	[status: number, text: string | undefined, code: string, retryable: boolean]
>([
	[
		403,
		"Code: 516. DB::Exception: u: Authentication failed. (AUTHENTICATION_FAILED) (version 26.9)",
		"CredentialsRefused",
		false,
	],
	[
		500,
		"Code: 241. DB::Exception: memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)",
		"ClickHouseBusy",
		true,
	],
	[
		500,
		"Code: 999. DB::Exception: x. (KEEPER_EXCEPTION)",
		"ClickHouseUnavailable",
		true,
	],
	[
		400,
		"Code: 62. DB::Exception: Syntax error. (SYNTAX_ERROR)",
		"ClickHouseRefused",
		false,
	],
	[
		200,
		"Code: 159. DB::Exception: Timeout. (TIMEOUT_EXCEEDED)",
		"ClickHouseBusy",
		true,
	],
	[503, undefined, "ClickHouseUnavailable", true],
	[404, undefined, "ClickHouseNotSpoken", false],
	[400, "<html>token-123</html>", "ClickHouseNotSpoken", false],
])("status %i with %j is %s", (status, text, code, retryable) => {
	const failure = serverFailure(status, text);
	expect(failure).toMatchObject({ code, retryable });
	expect(failure.message).not.toContain("token-123");
	expect(
		Buffer.byteLength(
			serverFailure(
				400,
				`Code: 1. DB::Exception: ${"ü\u001b".repeat(9_000)} (X)`,
			).message,
		),
	).toBeLessThan(2_000);
});

const version = " (version 26.9.2.1 (official build))";

test.each([
	[
		"Code: 469. DB::Exception: Constraint `c\\`d` for table shop.orders (2d…) is violated at row 1. Expression: (length(body) < 5). Column values: body = 'MARKED (FAKE)'. (VIOLATED_CONSTRAINT)",
		'rows by constraint "c\\`d" in table "shop.orders" (code 469, VIOLATED_CONSTRAINT)',
	],
	[
		"Code: 6. DB::Exception: Cannot parse string 'MARKED' as Int32: while converting column `MARKED`. (CANNOT_PARSE_TEXT)",
		"rows (code 6, CANNOT_PARSE_TEXT)",
	],
	[
		"Code: 395. DB::Exception: MARKED: while pushing to view. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)",
		"rows (code 395, FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)",
	],
	[
		"Code: 62. DB::Exception: Syntax error at 'MARKED'. (SYNTAX_ERROR)",
		"a statement (code 62, SYNTAX_ERROR)",
	],
	[
		"Code: 241. DB::Exception: Memory limit exceeded: while reading 'MARKED'. (MEMORY_LIMIT_EXCEEDED)",
		"a statement (code 241, MEMORY_LIMIT_EXCEEDED)",
	],
])("of %j only names are told", (text, words) => {
	for (const end of ["", version, `${version}\n`]) {
		const failure = serverFailure(500, text + end);
		expect(failure.what).toBe(`ClickHouse refuses ${words}.`);
		expect(failure.stack).not.toContain("MARKED");
	}
});

test("what ClickHouse says of rights is told in its words", () => {
	const text =
		"Code: 497. DB::Exception: u: Not enough privileges. (ACCESS_DENIED)";
	expect(serverFailure(403, text + version).what).toBe(
		"ClickHouse says: DB::Exception: u: Not enough privileges. (ACCESS_DENIED) (code 497, ACCESS_DENIED).",
	);
});
