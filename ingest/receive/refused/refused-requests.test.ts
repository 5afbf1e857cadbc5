import type { IncomingMessage } from "node:http";
import { expect, test, vi } from "vitest";
import { routeWith } from "../../../test/support/examples/route-example.ts";
import { refusals, violationOf } from "../answer/refusal.ts";
import { RefusedRequests, recordOf } from "./refused-requests.ts";

const sourceKey = "5".repeat(32);
const urlKey = "9".repeat(32);
const route = routeWith(urlKey, sourceKey);
const now = new Date("2026-03-01T12:00:00.000Z");

function requestWith(
	headers: Record<string, string> = {},
	query = "",
): IncomingMessage {
	const url = `/hooks/${sourceKey}/${urlKey}${query}`;
	return { method: "POST", url, headers } as never;
}

function natsWith(statuses: AsyncIterable<{ type: string }> = never()) {
	const published: [string, string][] = [];
	const connection = {
		publish: (subject: string, text: string) => {
			published.push([subject, text]);
		},
		status: () => statuses,
	};
	return { connection: connection as never, published };
}

async function* never(): AsyncGenerator<{ type: string }> {}

test("a record says when, why and what, without the value of any other header and without the URL", () => {
	const request = requestWith(
		{
			"content-type": "application/json",
			"content-length": "5",
			"user-agent": "sender/1.0",
			authorization: "Bearer abcdefgh",
			"x-shop": "a private value",
		},
		"?token=s3cr3t-value",
	);
	const body = [Buffer.from('{"a"'), Buffer.from("}")];
	const record = recordOf(route, request, refusals.InvalidJSON, body, now);
	expect(record).toEqual({
		version: 1,
		time: "2026-03-01T12:00:00.000Z",
		status: 400,
		code: "InvalidJSON",
		message: refusals.InvalidJSON.message,
		method: "POST",
		contentType: "application/json",
		userAgent: "sender/1.0",
		bytes: 5,
		headerNames: [
			"content-type",
			"content-length",
			"user-agent",
			"authorization",
			"x-shop",
		],
		bodyHead: '{"a"}',
	});
});

test("a credential is nowhere in a record, wherever its sender repeats it", () => {
	const secret = "whsec_abcdefghijkl";
	const request = requestWith(
		{
			"webhook-signature": secret,
			"content-type": `application/${secret}`,
			"user-agent": `sender ${secret}`,
		},
		`?token=${secret}`,
	);
	const body = [Buffer.from(`${secret} ${urlKey} ${sourceKey}`)];
	const violation = [{ kind: "TypeMismatch", path: `/${secret}`, message: "" }];
	const record = JSON.stringify(
		recordOf(route, request, violationOf(JSON.stringify(violation)), body),
	);
	for (const hidden of [secret, urlKey, sourceKey])
		expect(record).not.toContain(hidden);
	expect(record).toContain("TypeMismatch");
});

test("a record is small, however much its sender sends", () => {
	const request = requestWith({
		"user-agent": "a".repeat(10_000),
		"content-type": "b".repeat(10_000),
		...Object.fromEntries(
			Array.from({ length: 500 }, (_, i) => [`${"x".repeat(100)}-${i}`, ""]),
		),
	});
	const long = JSON.stringify(
		Array.from({ length: 100 }, () => ({ path: "p".repeat(2_000) })),
	);
	const body = Array.from({ length: 100 }, () => Buffer.alloc(1_000, "c"));
	const record = recordOf(route, request, violationOf(long), body);
	expect(record.bodyHead).toBe("c".repeat(1_024));
	expect(record.bytes).toBe(100_000);
	expect(JSON.stringify(record).length).toBeLessThan(5_000);
});

test("it is published on the subject of its account and Source alone", () => {
	const { connection, published } = natsWith();
	const requests = new RefusedRequests(connection);
	requests.record(route, requestWith(), refusals.EmptyBody, []);
	expect(published).toEqual([
		[
			`tidemill.refused.shop.${sourceKey}`,
			expect.stringContaining("EmptyBody"),
		],
	]);
	expect(requests.outcomes).toEqual({ sent: 1, left_out: 0, dropped: 0 });
});

test("a flood is sampled, and the next record says how many were left out", () => {
	const { connection, published } = natsWith();
	const requests = new RefusedRequests(connection);
	const clock = vi.spyOn(performance, "now").mockReturnValue(0);
	for (let i = 0; i < 1_000; i++)
		requests.record(route, requestWith(), refusals.EmptyBody, []);
	clock.mockReturnValue(3_600_000);
	requests.record(route, requestWith(), refusals.EmptyBody, []);
	clock.mockRestore();
	const { sent, left_out } = requests.outcomes;
	expect(sent).toBe(published.length);
	expect(sent).toBeLessThan(30);
	expect(JSON.parse(published.at(-1)![1])).toMatchObject({ leftOut: left_out });
});

test("nothing is kept for NATS while it is away", async () => {
	const back = Promise.withResolvers<void>();
	const { connection, published } = natsWith(
		(async function* () {
			yield { type: "disconnect" };
			await back.promise;
			yield { type: "reconnect" };
		})(),
	);
	const requests = new RefusedRequests(connection);
	const record = () =>
		requests.record(route, requestWith(), refusals.EmptyBody, []);
	await vi.waitFor(() => {
		record();
		expect(requests.outcomes.dropped).toBeGreaterThan(0);
	});
	const { length } = published;
	record();
	expect(published).toHaveLength(length);
	back.resolve();
	await vi.waitFor(() => {
		record();
		expect(published.length).toBeGreaterThan(length);
	});
});
