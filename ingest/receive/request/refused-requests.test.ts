import type { IncomingMessage } from "node:http";
import { expect, test, vi } from "vitest";
import {
	maxRecordBytes,
	type RefusedRequest,
	refusedStream,
} from "../../../packages/contracts/refused-request.ts";
import { routeWith } from "../../../test/support/examples/route-example.ts";
import { refusals, violationOf } from "./refusal.ts";
import { maxReceivers, usualRates } from "./refusal-rate.ts";
import { fittingText, RefusedRequests, recordOf } from "./refused-requests.ts";

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

const details = JSON.stringify(
	Array.from({ length: 500 }, () => ({ path: `/${"a".repeat(400)}` })),
);
const bodyOfAs = [Buffer.alloc(2_048, "a")];

/** Throws as soon as the work searches more often. */
function withSearches(most: number, work: () => void): void {
	const { indexOf } = String.prototype;
	let searches = 0;
	const spy = vi
		.spyOn(String.prototype, "indexOf")
		.mockImplementation(function (this: string, ...wanted) {
			if (++searches > most) throw new Error(`more than ${most} searches`);
			return indexOf.apply(this, wanted);
		});
	try {
		work();
	} finally {
		spy.mockRestore();
	}
}

test.each([
	["one credential, repeated", () => "aaaaaa"],
	["many credentials", (i: number) => "a".repeat(6 + (i % 40))],
])("a request with %s costs bounded work", (_, parameter) => {
	const query = `?${Array.from({ length: 2_300 }, (_, i) => parameter(i)).join("&")}`;
	// One for each of its parameters, before any text is searched.
	withSearches(2_300 + 5_000, () =>
		recordOf(route, requestWith({}, query), violationOf(details), bodyOfAs),
	);
});

test("a request with more credentials than are searched for shows none of its texts", () => {
	const record = (parameters: number) => {
		const query = `?${Array.from({ length: parameters }, (_, i) => `${i}-secret`).join("&")}`;
		const headers = { "content-type": "a/b", "user-agent": "sender" };
		return recordOf(
			route,
			requestWith(headers, query),
			violationOf(details),
			bodyOfAs,
		);
	};
	const texts = ["contentType", "userAgent", "bodyHead", "violations"];
	// Beside the URL's two keys.
	expect(Object.keys(record(30))).toEqual(expect.arrayContaining(texts));
	const without = record(31);
	for (const text of texts) expect(without).not.toHaveProperty(text);
	expect(without).toMatchObject({ bytes: 2_048, status: 400 });
});

test.each(["\0", "é", "\u{1f600}", '"'])(
	"a body of %j is cut to its share of the stream",
	(character) => {
		const body = [Buffer.from(character.repeat(2_048))];
		const record = recordOf(route, requestWith(), refusals.InvalidJSON, body);
		const bytes = Buffer.byteLength(JSON.stringify(record.bodyHead));
		expect(bytes).toBeLessThanOrEqual(1_024 + 2);
		expect(bytes).toBeGreaterThan(1_000);
	},
);

test("records of an account use up its share of the stream", () => {
	const { connection, published } = natsWith();
	const requests = new RefusedRequests(connection);
	const clock = vi.spyOn(performance, "now");
	const body = [Buffer.alloc(2_048, "a")];
	for (let i = 0; i < 2_000; i++) {
		clock.mockReturnValue(i * 10_000);
		const source = { ...route, sourceKey: `${i}` };
		requests.record(source, requestWith(), refusals.InvalidJSON, body);
	}
	clock.mockRestore();
	const bytes = published.reduce((sum, [, text]) => sum + text.length, 0);
	expect(bytes).toBeLessThan(300_000);
});

test("however large the records are, one account leaves the others seven eighths of the stream, at sixteen receivers", () => {
	const { burst, perSecond } = usualRates.ofAccountBytes;
	// The last record may pass the end of the share.
	const most =
		burst + (refusedStream.keptMs / 1_000) * perSecond + maxRecordBytes;
	expect(maxReceivers * most).toBeLessThanOrEqual(refusedStream.maxBytes / 8);
});

test.each(["\0", "é", "x"])(
	"a record with violations of %j fits into the stream, and says how many are missing",
	(character) => {
		const text = character.repeat(400);
		const violations = Array.from({ length: 25 }, () => ({
			kind: "SchemaMismatch",
			path: `/${text}`,
			message: text,
			expected: text,
		}));
		const { connection, published } = natsWith();
		const requests = new RefusedRequests(connection);
		const headers = Object.fromEntries(
			Array.from({ length: 60 }, (_, i) => [`x-${"n".repeat(20)}${i}`, "é"]),
		);
		requests.record(
			route,
			requestWith({
				...headers,
				"content-type": "é".repeat(300),
				"user-agent": "é".repeat(300),
			}),
			violationOf(JSON.stringify(violations)),
			[Buffer.from(character.repeat(2_048))],
		);
		const [, sent] = published[0]!;
		expect(Buffer.byteLength(sent)).toBeLessThanOrEqual(16_384);
		const record: RefusedRequest = JSON.parse(sent);
		const shown = record.violations!.length;
		expect(record.otherViolations).toBe(25 - shown);
		expect(shown).toBeGreaterThan(0);
		const isCut = character === "\0";
		expect(shown < 10).toBe(isCut);
		expect(requests.outcomes).toMatchObject(
			isCut ? { sent: 0, cut: 1 } : { sent: 1, cut: 0 },
		);
		expect(record.bodyHead).toBeDefined();
	},
);

test("without its violations, the largest record fits", () => {
	const record = recordOf(
		route,
		requestWith({
			...Object.fromEntries(
				Array.from({ length: 100 }, (_, i) => [`x${i}-${"n".repeat(50)}`, "1"]),
			),
			"content-type": "é".repeat(9_000),
			"user-agent": "é".repeat(9_000),
		}),
		refusals.CertificateUnavailable,
		[Buffer.from("\0".repeat(4_000))],
	);
	const { text, isCut } = fittingText({ ...record, leftOut: 10 ** 9 });
	expect(isCut).toBe(false);
	expect(Buffer.byteLength(text)).toBeLessThan(8_192);
});

test("it is published on the subject of its account and Source alone", () => {
	const { connection, published } = natsWith();
	const requests = new RefusedRequests(connection);
	requests.record(route, requestWith(), refusals.EmptyBody, []);
	expect(published).toEqual([
		[
			expect.stringMatching(/^tidemill\.refused\.shop\.[0-9a-f]{32}$/),
			expect.stringContaining("EmptyBody"),
		],
	]);
	// By the key itself, archive would show the Source's events.
	expect(JSON.stringify(published)).not.toContain(sourceKey);
	expect(requests.outcomes).toEqual({
		sent: 1,
		cut: 0,
		left_out: 0,
		dropped: 0,
	});
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
