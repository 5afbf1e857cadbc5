import { expect, test, vi } from "vitest";
import { apiserver } from "../../test/support/cli/apiserver.ts";
import { inProcess as tidemill } from "../../test/support/cli/in-process.ts";
import { requestOf } from "./replay.ts";

const eventId = "019cb0c2-7b3c-7f4e-9a51-0d6b2a4f8c11";

test("JSON has the bytes that were stored, the captured headers, and the event's id", () => {
	const body = '{"a": 1.10,\n"a":2}';
	const { headers, ...request } = requestOf({
		...{ eventId, kind: "json", body },
		headers: {
			"content-type": "application/cloudevents+json",
			"stripe-signature": "t=1,v1=2",
			"content-length": "7",
			"content-encoding": "gzip",
			host: "tidemill.example.com",
		},
	});
	expect(request.body).toBe(body);
	expect(Object.fromEntries(headers)).toEqual({
		"content-type": "application/cloudevents+json",
		"stripe-signature": "t=1,v1=2",
		"tidemill-event-id": eventId,
	});
});

test("a form is a form again, in its order, with each of a name's values", () => {
	const { headers, body } = requestOf({
		...{ eventId, kind: "form" },
		body: '{"b":["1","2"],"":"x","a":"grüße & mehr"}',
		headers: { "content-type": "multipart/form-data; boundary=x" },
	});
	expect(body).toBe("b=1&b=2&=x&a=gr%C3%BC%C3%9Fe+%26+mehr");
	expect(headers.get("content-type")).toBe("application/x-www-form-urlencoded");
});

test.each([
	[["--to", "localhost:3000"], '--to is "localhost:3000", but must be'],
	[["--to", "ftp://a"], "but must be the handler's address"],
	[["--to", "http://a", "--rate", "0"], '--rate is "0"'],
	[["--to", "http://a", "--limit", "x"], '--limit is "x"'],
	[["--to", "http://a", "--from", "x", "--event", "y"], "either --from or"],
	[[], "'--to <url>' not specified"],
])("%j is refused with what is right", async (args, message) => {
	const { exitCode, stderr } = await tidemill(
		...["events", "replay", "shop", ...args],
	);
	expect(stderr).toContain(message);
	expect(exitCode).toBe(2);
});

test("an answer that isn't 2xx, a redirect too, is told and makes the exit code 1", async () => {
	const handler = await apiserver((line) =>
		line.endsWith("/moved") ? [302, {}] : [500, {}],
	);
	const api = await apiserver((line) =>
		line.includes("?from=")
			? [200, { items: [{ eventId }] }]
			: [200, { eventId, kind: "json", body: "{}" }],
	);
	vi.stubEnv("TIDEMILL_API_URL", api.url);
	vi.stubEnv("TIDEMILL_API_TOKEN", "secret");
	for (const [to, status] of [
		[`${handler.url}/moved`, 302],
		[handler.url, 500],
		["http://127.0.0.1:1", undefined],
	] as const) {
		const { exitCode, stdout, stderr } = await tidemill(
			...["events", "replay", "shop", "--to", to, "--json"],
			...["--from", "2026-03-01T00:00:00Z"],
		);
		expect(JSON.parse(stdout)).toMatchObject({ eventId });
		expect(JSON.parse(stdout).status).toBe(status);
		expect(stderr).toBe("Sent 1 event, and the handler accepted 0.\n");
		expect(exitCode).toBe(1);
	}
	vi.unstubAllEnvs();
	expect(handler.asked).toEqual(["POST /moved", "POST /"]);
});
