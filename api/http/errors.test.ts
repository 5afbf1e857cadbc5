import { expect, test } from "vitest";
import { ApiError } from "../../kube/client/client.ts";
import { TransportError } from "../../kube/client/errors.ts";
import { RequestError, requestErrorOf, unauthorized } from "./errors.ts";

test.each([
	[400, "InvalidRequest"],
	[401, "Unauthorized"],
	[403, "Forbidden"],
	[404, "NotFound"],
	[409, "Conflict"],
	[410, "CursorExpired"],
	[422, "InvalidRequest"],
	[429, "Unavailable"],
	[500, "Internal"],
	[503, "Unavailable"],
])("the apiserver's %d becomes %s", (status, code) => {
	expect(requestErrorOf(new ApiError(status, {})).code).toBe(code);
});

test("an unreachable apiserver is a 503 with Retry-After", () => {
	const error = requestErrorOf(
		new TransportError({ method: "GET", path: "/" }, new Error("refused"), {
			staleConnection: false,
		}),
	);
	expect(error.status).toBe(503);
	expect(error.headers).toEqual({ "retry-after": "2" });
	expect(error.message).not.toContain("refused");
});

test("fields that the apiserver refuses are listed", () => {
	const error = requestErrorOf(
		new ApiError(422, {
			reason: "Invalid",
			message: 'Run "x" is invalid',
			details: {
				causes: [
					{
						reason: "FieldValueInvalid",
						field: "spec.dates.start",
						message: 'Invalid value: "object": start must not be after end',
					},
				],
			},
		}),
	);
	expect(error.toJSON()).toEqual({
		is_success: false,
		error: {
			code: "InvalidRequest",
			message: "The request is invalid. Correct the fields in details.",
			details: [
				{ path: "dates.start", message: "start must not be after end" },
			],
		},
	});
});

test("an internal error reveals nothing", () => {
	const error = requestErrorOf(new Error("password=secret"));
	expect(error.code).toBe("Internal");
	expect(JSON.stringify(error)).not.toContain("secret");
});

test("a missing token is not called invalid", () => {
	expect(unauthorized("missing").headers["www-authenticate"]).toBe(
		'Bearer realm="tidemill"',
	);
	expect(unauthorized("invalid").headers["www-authenticate"]).toContain(
		'error="invalid_token"',
	);
});

test("an error has 50 details at most and says when there are more", () => {
	const details = Array.from({ length: 60 }, (_, index) => ({
		path: `f${index}`,
		message: "is not a known field",
	}));
	const error = new RequestError("InvalidRequest", "Correct the fields.", {
		details,
	});
	expect(error.details).toEqual(details.slice(0, 50));
	expect(error.message).toBe(
		"Correct the fields. They are the first 50; there are more.",
	);
});

test("however long the texts of the apiserver and of the request are, an answer is short", () => {
	const long = "x".repeat(1_000_000);
	const causes = Array.from({ length: 100 }, () => ({
		field: long,
		message: long,
	}));
	for (const body of [
		{ message: long },
		{ message: long, details: { causes } },
	])
		expect(
			JSON.stringify(requestErrorOf(new ApiError(422, body))).length,
		).toBeLessThan(60_000);
});
