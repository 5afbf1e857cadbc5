import { stringify } from "uuid";
import { expect, test } from "vitest";
import type { Route } from "../../packages/contracts/route.ts";
import type { SendAgain } from "../../packages/contracts/sent-again.ts";
import { receiverOf } from "../../test/support/fixtures/data-plane/storing-receiver.ts";
import { sendAgain } from "./again-responder.ts";
import type { ReceiverParts } from "./webhook-request.ts";

/* A stored event that is sent again is an event as any, but for the credentials: the API has checked who asks. */

const key = "0123456789abcdef".repeat(2);
const first = "0190a000-0000-7000-8000-000000000001";

async function again(
	route: Partial<Route>,
	asked: Partial<SendAgain> = {},
	body = "{}",
	parts: Partial<ReceiverParts> = {},
) {
	const { receiver, stored } = receiverOf(key, route, parts);
	const head: SendAgain = {
		account: "shop",
		sourceKey: key,
		of: first,
		kind: "json",
		fields: {},
		as: "New",
		...asked,
	};
	const answer = await sendAgain(
		Buffer.from(`${JSON.stringify(head)}\n${body}`),
		receiver,
	);
	const [[, event] = []] = stored;
	return {
		answer,
		stored: stored.length,
		event: event && {
			id: stringify(event.id),
			kind: event.kind,
			body: Buffer.from(event.body).toString(),
			headers: JSON.parse(event.headers),
		},
	};
}

test("the stored body comes byte for byte under a new id and names the first, whatever the Source asks of senders", async () => {
	const body = ' {"b":1,\n "a":1.0}\n';
	const { answer, event } = await again(
		{
			authorization: {
				type: "Unavailable",
				awaits: { type: "CustomToken" },
			},
			verification: { allowGet: true, handshakes: ["Slack"] },
			response: { status: 204, contentType: "text/plain", body: "" },
			capturedHeaders: ["x-github-event"],
		},
		{ fields: { "x-github-event": "pu\u015fh \u00e9", "?shop": "b&c" } },
		body,
	);
	expect(answer).toEqual({ status: 200, eventID: event?.id });
	expect(event).toEqual({
		id: expect.not.stringMatching(first),
		kind: "json",
		body,
		headers: {
			"x-github-event": "pu\u015fh \u00e9",
			"?shop": "b&c",
			"tidemill-again-of": first,
		},
	});
});

test("what says how the first travelled is kept as a field, and says nothing of the stored text", async () => {
	const fields = {
		"content-encoding": "gzip",
		"content-length": "9999999999",
		"content-type": "application/cloudevents+json",
		expect: "100-continue",
		"transfer-encoding": "chunked",
		"X-Id": "7",
	};
	const { answer, event } = await again({}, { fields }, '{"a":1}');
	expect(answer.status).toBe(200);
	expect(event).toMatchObject({
		body: '{"a":1}',
		headers: { ...fields, "tidemill-again-of": first },
	});
});

test("a form's text may be longer than the form was", async () => {
	const body = JSON.stringify({ a: "x".repeat(100) });
	const most = { maxBodyBytes: 50 };
	expect(await again(most, { kind: "form" }, body)).toMatchObject({
		answer: { status: 200 },
	});
	expect(await again(most, {}, body)).toMatchObject({
		answer: { status: 413 },
	});
});

test("a form stays one, with the text that is stored of it", async () => {
	const body = '{"order":"2","items":["Bread","Oil"]}';
	const { event } = await again({}, { kind: "form" }, body);
	expect(event).toMatchObject({ kind: "form", body });
});

test("suspension, size and the tracking plan hold as for a sender", async () => {
	const suspended = await again({ suspended: true });
	expect(suspended).toMatchObject({
		answer: { status: 403, error: { code: "SourceSuspended" } },
		stored: 0,
	});
	const large = await again({ maxBodyBytes: 10 }, {}, '{"a":"0123456789"}');
	expect(large).toMatchObject({ answer: { status: 413 }, stored: 0 });
	const seen: unknown[] = [];
	const plans: ReceiverParts["plans"] = {
		validate: ({ headers }, answer) => {
			seen.push(headers["x-type"]);
			answer({ violations: '{"plan":"orders"}', quarantined: true });
		},
	};
	const fields = { "x-type": "order" };
	const plan = { name: "orders" } as NonNullable<Route["plan"]>;
	const planned = await again({ plan }, { fields }, "{}", { plans });
	expect(planned).toMatchObject({ answer: { status: 200 }, stored: 1 });
	expect(seen).toEqual(["order"]);
});

test("as a repeat it is one with the event of its key, as a new event it is another", async () => {
	const claimed: string[] = [];
	const parts: Partial<ReceiverParts> = {
		claims: {
			claim: async (digest) => {
				claimed.push(digest);
				return { repeatOf: first };
			},
			settle: () => undefined,
		},
	};
	const idempotency = { key: { header: "x-id" }, windowSeconds: 60 };
	const fields = { "x-id": "a" };
	const asRepeat = { fields, as: "Repeat" } as const;
	const repeat = await again({ idempotency }, asRepeat, "{}", parts);
	expect(repeat).toMatchObject({
		answer: { status: 200, eventID: first, isRepeat: true },
		stored: 0,
	});
	expect(claimed).toHaveLength(1);
	const asNew = await again({ idempotency }, { fields }, "{}", parts);
	expect(asNew).toMatchObject({ stored: 1 });
	expect(asNew.answer.isRepeat).toBeUndefined();
	// The header that has the key isn't kept.
	const lost = await again({ idempotency }, { as: "Repeat" }, "{}", parts);
	expect(lost).toMatchObject({ stored: 1 });
	expect(claimed).toHaveLength(1);
});

test("no other account's Source is reached", async () => {
	expect(await again({}, { account: "thief" })).toMatchObject({
		answer: { status: 404, error: { code: "UnknownURL" } },
		stored: 0,
	});
});

test("a Source that captures the field by which the first is named gets nothing of it from senders", () => {
	const { receiver } = receiverOf(key, {
		capturedHeaders: ["tidemill-again-of", "x-a"],
	});
	expect(receiver.routes.find(key)?.capturedHeaders).toEqual(["x-a"]);
});
