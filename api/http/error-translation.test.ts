import { expect, test } from "vitest";
import { KubeApiError } from "../../packages/kube/client/client.ts";
import { TransportError } from "../../packages/kube/client/errors.ts";
import { requestErrorOf } from "./error-translation.ts";
import { RequestError, unauthorized } from "./errors.ts";

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
	expect(requestErrorOf(new KubeApiError(status, {})).code).toBe(code);
});

test.each([
	[
		500,
		'Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post "https://10.1.2.3:8443/validate?timeout=5s": connection refused',
		'failed calling webhook "policy.example.com": failed to call webhook: Post "<address>": connection refused',
	],
	[
		503,
		'admission webhook "policy.example.com" denied the request: try later',
		'admission webhook "policy.example.com" denied the request: try later',
	],
])(
	"a write that an admission webhook stops by %d is a 503 with the cluster's words and without addresses",
	(status, message, words) => {
		const error = requestErrorOf(new KubeApiError(status, { message }));
		expect(error.status).toBe(503);
		expect(error.message).toContain(words);
		expect(error.message).not.toContain("10.1.2.3");
		expect(error.headers).toEqual({ "retry-after": "2" });
	},
);

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
		new KubeApiError(422, {
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
	expect(error.problem("b4b0")).toEqual({
		type: "/docs#InvalidRequest",
		title: "The request is invalid",
		status: 400,
		detail: "The request is invalid. Correct the fields in details.",
		instance: "urn:uuid:b4b0",
		code: "InvalidRequest",
		details: [{ path: "dates.start", message: "start must not be after end" }],
	});
});

test.each([
	'strict decoding error: duplicate field "spec.suspend"',
	"some other words",
])("an object that the apiserver quotes is never repeated (%s)", (words) => {
	const quoted = JSON.stringify(
		JSON.stringify({ spec: { note: "strict decoding error: hush" } }),
	);
	const message = `Invalid value: ${quoted}: ${words}`;
	const error = requestErrorOf(
		new KubeApiError(422, {
			reason: "Invalid",
			message: ` "" is invalid: patch: ${message}`,
			details: { causes: [{ field: "patch", message }] },
		}),
	);
	expect(error.status).toBe(400);
	expect(JSON.stringify(error.problem())).not.toContain("hush");
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
			JSON.stringify(requestErrorOf(new KubeApiError(422, body))).length,
		).toBeLessThan(60_000);
});

const group = "tidemill.dev";
const forbids = (name: string, resource: string, verb: string, group: string) =>
	`${resource}${group && "."}${group}${name} is forbidden: User "u" cannot ${verb} resource "${resource}" in API group "${group}" in the namespace "shop"`;
const ask = "Ask an administrator to bind a role that has it";

test.each([
	[
		"AlreadyExists",
		409,
		'sources.tidemill.dev "x" already exists',
		{ name: "x", group, kind: "sources" },
		'There already is a source "x". Choose another name, or change that one.',
	],
	[
		"Conflict",
		409,
		'Operation cannot be fulfilled on trackingplans.tidemill.dev "x": the object has been modified; please apply your changes to the latest version and try again',
		{ name: "x", group, kind: "trackingplans" },
		'The tracking plan "x" changed meanwhile. Fetch it and retry.',
	],
	[
		"NotFound",
		404,
		'namespaces "shop" not found',
		{ name: "shop", kind: "namespaces" },
		'There is no account "shop".',
	],
	[
		"Forbidden",
		403,
		forbids(' "x"', "sources", "delete", group),
		{},
		`Your token lacks the right "delete" on sources in account "shop". ${ask}, such as tidemill-editor.`,
	],
	[
		"Forbidden",
		403,
		forbids("", "runs", "create", group),
		{},
		`Your token lacks the right "create" on runs in account "shop". ${ask}, such as tidemill-runner.`,
	],
	[
		"Forbidden",
		403,
		forbids("", "pods", "list", ""),
		{},
		`Your token lacks the right "list" on pods in account "shop". ${ask}, such as tidemill-log-reader.`,
	],
	[
		"Forbidden",
		403,
		forbids("", "leases", "list", "coordination.k8s.io"),
		{},
		`Your token lacks the right "list" on leases in account "shop". ${ask}.`,
	],
	[
		"Forbidden",
		403,
		'sources.tidemill.dev "x" is forbidden: exceeded quota: small, requested: count/sources.tidemill.dev=1',
		{},
		"The cluster refuses this: exceeded quota: small, requested: count/sources.tidemill.dev=1",
	],
])("the apiserver's %s (%d) is said in plain words: %s", (...refusal) => {
	const [reason, status, message, details, detail] = refusal;
	const error = new KubeApiError(status, { reason, message, details });
	expect(requestErrorOf(error).message).toBe(detail);
});
