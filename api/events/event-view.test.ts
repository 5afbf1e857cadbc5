import { expect, test } from "vitest";
import type { Violation } from "../../packages/contracts/tracking-plan.ts";
import { capturedView, foundEventView } from "./event.ts";

const violations: Violation[] = [
	{ kind: "TypeMismatch", path: "/card/secret", message: "a string" },
	{ kind: "TypeMismatch", path: "/n", message: "a number" },
	{ kind: "UnplannedProperty", path: "/hidden", message: "no such property" },
];
const event = {
	eventID: "019cb0c2-7b3c-7f4e-9a51-0d6b2a4f8c11",
	time: "2026-03-01T12:00:00.124Z",
	kind: "json" as const,
	bytes: 9,
	state: "accepted" as const,
	sourceKey: "5".repeat(32),
	violations,
	otherViolations: 3,
	stage: "Buffer" as const,
	storedTime: "2026-03-01T12:00:00.124Z",
};

test("without the body, only the kinds of violations are shown, each once", () => {
	expect(foundEventView("shop", event, false)).toMatchObject({
		violations: [{ kind: "TypeMismatch" }, { kind: "UnplannedProperty" }],
	});
	const shown = JSON.stringify(foundEventView("shop", event, false));
	for (const told of ["secret", "hidden", "no such", "otherViolations"])
		expect(shown).not.toContain(told);
});

test("with the body, the violations are shown whole", () => {
	expect(foundEventView("shop", event, true)).toMatchObject({
		violations,
		otherViolations: 3,
	});
});

test("captured headers and query parameters are shown apart, and only if there are any", () => {
	expect(capturedView({ "x-a": "1", "?utm_source": "2", "?x-a": "3" })).toEqual(
		{
			headers: { "x-a": "1" },
			queryParameters: { utm_source: "2", "x-a": "3" },
		},
	);
	expect(capturedView({ "?a": "1" })).toEqual({ queryParameters: { a: "1" } });
	expect(capturedView({ a: "1" })).toEqual({ headers: { a: "1" } });
	expect(capturedView({})).toEqual({});
});
