import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { stringify } from "uuid";
import { expect, test } from "vitest";
import type { Route } from "../../packages/contracts/route.ts";
import {
	receiverOf,
	type StoredAtOnce,
} from "../../test/support/fixtures/data-plane/storing-receiver.ts";
import { validateSender } from "./body/request-body.ts";
import type { PlanOutcome } from "./plan/tracking-plans.ts";
import { type RequestRefusal, refusals } from "./request/refusal.ts";
import type { AcceptedHead } from "./request/request-head.ts";
import { type ReceiverParts, WebhookRequest } from "./webhook-request.ts";

/* One request from its head to its answer, without a network: what each step decides comes to pass. */

const key = "0123456789abcdef".repeat(2);

interface Answered {
	status: number;
	answer: { event_id?: string; error?: { code: string } };
	/** By shard. */
	stored: StoredAtOnce[];
}

/** Sends a body in pieces to a Source, whose events are stored at once. */
async function post(
	route: Partial<Route>,
	pieces: string | string[] = "{}",
	{
		headers = {},
		...parts
	}: Partial<ReceiverParts> & { headers?: Record<string, string> } = {},
): Promise<Answered> {
	const { receiver, stored } = receiverOf(key, route, parts);
	const request = Object.assign(new PassThrough(), {
		method: "POST",
		url: `/hooks/${key}/${key}`,
		httpVersion: "1.1",
		headers: { host: "h", ...headers },
	});
	const answer = Promise.withResolvers<Answered>();
	const reply = (text: string) =>
		answer.resolve({
			status: response.status,
			answer: JSON.parse(text),
			stored,
		});
	const response = {
		status: 0,
		destroyed: false,
		setHeader: () => undefined,
		writeHead: (status: number) => Object.assign(response, { status }),
		write: reply,
		// Without a text after `write`.
		end: (text?: string) => text !== undefined && reply(text),
	};
	new WebhookRequest(
		receiver,
		request as unknown as IncomingMessage,
		response as unknown as ServerResponse,
	).start(false);
	for (const piece of [pieces].flat()) request.write(piece);
	request.end();
	return answer.promise;
}

/** A plan that says the same about every event. */
function planned(outcome: PlanOutcome | RequestRefusal) {
	const plans: ReceiverParts["plans"] = {
		validate: (_, answer) => answer(outcome),
	};
	return { route: { plan: { name: "orders" } }, plans };
}

test("an event is stored in its Source's shard under the id of the answer, byte for byte", async () => {
	const body = ' {"b":1, "a":1.0}\n';
	const { status, answer, stored } = await post({ shard: 2 }, body);
	expect(status).toBe(200);
	const [[shard, event] = fail(), ...others] = stored;
	expect(others).toEqual([]);
	expect(shard).toBe(2);
	expect(Buffer.from(event.body).toString()).toBe(body);
	expect(answer.event_id).toBe(stringify(event.id));
	expect(event.quarantined).toBeUndefined();
});

test("a form is stored as a JSON object", async () => {
	const type = "application/x-www-form-urlencoded";
	const headers = { "content-type": type };
	const { stored } = await post({}, "order=2&item=Bread", { headers });
	const [[, event] = fail()] = stored;
	expect(event.kind).toBe("form");
	expect(Buffer.from(event.body).toString()).toBe(
		'{"order":"2","item":"Bread"}',
	);
});

test("a body that turns out to be larger than its Source allows is 413, and not stored", async () => {
	const pieces = ["[1,2,3,", "4,5,6]"];
	expect(await post({ maxBodyBytes: 10 }, pieces)).toMatchObject({
		status: 413,
		answer: { error: { code: "BodyTooLarge" } },
		stored: [],
	});
});

test("a suspended Source stores nothing, not even a signed event", async () => {
	const suspended = { status: 403, stored: [] };
	expect(await post({ suspended: true })).toMatchObject(suspended);
	const head = { route: { suspended: true } } as AcceptedHead;
	expect(validateSender(head, true)).toBe(refusals.SourceSuspended);
});

test("an event that its plan rejects is refused, and not stored", async () => {
	const { route, plans } = planned(refusals.BadRequest);
	expect(await post(route, "{}", { plans })).toMatchObject({
		status: 400,
		stored: [],
	});
});

test("an event that its plan quarantines is stored so, with the reason", async () => {
	const violations = '{"plan":"orders"}';
	const { route, plans } = planned({ violations, quarantined: true });
	const { stored } = await post(route, "{}", { plans });
	const [[, event] = fail()] = stored;
	expect(event).toMatchObject({ quarantined: true, violations });
});

test("a repeat of a sender's key is answered with the first event's id, and not stored", async () => {
	const first = "0190a000-0000-7000-8000-000000000001";
	const claims: NonNullable<ReceiverParts["claims"]> = {
		claim: async () => ({ repeatOf: first }),
		settle: () => undefined,
	};
	const idempotency = { key: { header: "x-id" }, windowSeconds: 60 };
	const headers = { "x-id": "a" };
	expect(await post({ idempotency }, "{}", { headers, claims })).toMatchObject({
		status: 200,
		answer: { event_id: first },
		stored: [],
	});
});

function fail(): never {
	throw new Error("nothing was stored");
}
