import { expect, test } from "vitest";
import { refusalsText } from "./refusals.ts";

const refusal = {
	time: "2026-03-01T12:00:00.000Z",
	status: 401,
	code: "Unauthorized",
	message: "The token is missing or wrong.",
	method: "POST",
};

test("each refusal is a line, and each code says once what to do", () => {
	expect(
		refusalsText([
			{ ...refusal, leftOut: 7 },
			{ ...refusal, bytes: 12 },
		]),
	).toBe(
		`TIME                       STATUS   CODE           METHOD   BYTES   NOT LISTED
2026-03-01T12:00:00.000Z   401      Unauthorized   POST             7
2026-03-01T12:00:00.000Z   401      Unauthorized   POST     12

Unauthorized: The token is missing or wrong.
`,
	);
});

test("the cause of a refusal stands in its line", () => {
	const cause = "The request has no token.";
	expect(refusalsText([{ ...refusal, cause }, refusal])).toContain(
		`METHOD   BYTES   NOT LISTED   CAUSE
2026-03-01T12:00:00.000Z   401      Unauthorized   POST                          ${cause}
2026-03-01T12:00:00.000Z   401      Unauthorized   POST
`,
	);
});

test("a body can't write to the terminal", () => {
	const text = refusalsText([{ ...refusal, bodyHead: '{"a":\u001b[2J\n1' }]);
	expect(text).toContain('{"a": [2J 1');
});
