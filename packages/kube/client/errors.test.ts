import { expect, test } from "vitest";
import { hasReason, KubeApiError, TransportError } from "./errors.ts";

test.each([
	[
		409,
		{ reason: "AlreadyExists", message: 'jobs "a" already exists' },
		"AlreadyExists",
		'jobs "a" already exists',
	],
	[502, "bad gateway", "Bad Gateway", "bad gateway"],
	[
		503,
		"",
		"Service Unavailable",
		"the apiserver answered 503 Service Unavailable",
	],
	[
		500,
		{ message: "etcdserver: mvcc: database space exceeded" },
		"Internal Server Error",
		expect.stringMatching(
			/^etcdserver: mvcc: database space exceeded\. .* etcdctl alarm disarm\.$/,
		),
	],
	[404, {}, "Not Found", "the apiserver answered 404 Not Found"],
	[599, null, "Unknown", "the apiserver answered 599 Unknown"],
])(
	"an answer %i with the body %j has a reason and a message",
	(status, body, reason, message) => {
		const error = new KubeApiError(status, body, 1_000);
		expect(error).toMatchObject({
			status,
			reason,
			message,
			retryAfterMs: 1_000,
		});
	},
);

test("a long body of another server is cut", () => {
	expect(new KubeApiError(500, "x".repeat(600)).message).toHaveLength(500);
});

test("only the apiserver's errors have a reason", () => {
	const conflict = new KubeApiError(409, { reason: "Conflict" });
	expect(hasReason(conflict, "NotFound", "Conflict")).toBe(true);
	expect(hasReason(conflict, "NotFound")).toBe(false);
	const other = Object.assign(new Error(), { reason: "Conflict" });
	expect(hasReason(other, "Conflict")).toBe(false);
});

test("a request without an answer names itself and the cause, even when the cause has only a code", () => {
	const request = { method: "GET", path: "/version" };
	const cause = Object.assign(new Error(""), { code: "ECONNREFUSED" });
	const error = new TransportError(request, cause, { staleConnection: false });
	expect(error.message).toBe("GET /version: ECONNREFUSED");
	expect(error.cause).toBe(cause);
});
