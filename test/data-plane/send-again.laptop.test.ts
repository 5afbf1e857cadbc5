import { connect } from "@nats-io/transport-node";
import { stringify } from "uuid";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { askReceive } from "../../api/events/send-again.ts";
import { maxEventBodyBytes } from "../../ingest/wire/frame.ts";
import { natsRoles } from "../../operator/install/nats-users.ts";
import { sendAgainSubject } from "../../packages/contracts/nats.ts";
import type { SendAgain } from "../../packages/contracts/sent-again.ts";
import { createLog } from "../../packages/service/log.ts";
import {
	type ReceiveFixture,
	readFrames,
	startReceiveFixture,
} from "../support/fixtures/data-plane/receiver.ts";
import { untilKnown } from "../support/senders/http-client.ts";

/* The API has receive take a stored event again, by a way that no sender and no other role has. */

const first = "0190a000-0000-7000-8000-000000000001";
const log = createLog("test");
let fixture: ReceiveFixture;

beforeAll(async () => {
	fixture = await startReceiveFixture();
});
afterAll(() => fixture?.stop());

async function as(role: (typeof natsRoles)[number]) {
	const url = new URL(fixture.nats.urlFor(role));
	return connect({
		servers: url.host,
		user: url.username,
		pass: url.password,
		inboxPrefix: `_INBOX_${role}`,
		timeout: 120_000,
	});
}

/** A Source that takes nothing of a sender: its Secret is missing. */
async function guardedSource(): Promise<SendAgain> {
	const { path, route } = await fixture.routes.add({
		authorization: { type: "Unavailable", awaits: { type: "CustomToken" } },
		capturedHeaders: ["x-github-event"],
	});
	await untilKnown(fixture.receiver.url + path);
	return {
		account: route.account,
		sourceKey: route.sourceKey,
		of: first,
		kind: "json",
		fields: { "x-github-event": "push" },
		as: "New",
	};
}

test("an event that is sent again is stored beside the first, whatever its Source asks of senders", async () => {
	const asked = await guardedSource();
	const api = await as("api");
	const sendAgain = askReceive(() => api, log);
	const body = Buffer.from('{"order": 1001.0}');
	const { eventID } = await vi.waitFor(async () => {
		const answer = await sendAgain(asked, body);
		expect(answer.status).toBe(200);
		return answer;
	}, 120_000);
	const frames = await readFrames(fixture.admin, fixture.stream);
	const [event] = frames
		.flatMap(({ events }) => events)
		.filter(({ id }) => stringify(id) === eventID);
	expect(Buffer.from(event!.body)).toEqual(body);
	expect(JSON.parse(event!.headers)).toEqual({
		"x-github-event": "push",
		"tidemill-again-of": first,
	});
	await api.close();
});

test("the largest body goes through, and one that is larger than the Source's bound doesn't", async () => {
	const { path, route } = await fixture.routes.add({ maxBodyBytes: 9e6 });
	await untilKnown(fixture.receiver.url + path);
	const { account, sourceKey } = route;
	const asked = { ...(await guardedSource()), account, sourceKey, fields: {} };
	const api = await as("api");
	const sendAgain = askReceive(() => api, log);
	const text = (length: number) => Buffer.from(`"${"x".repeat(length - 2)}"`);
	const largest = text(maxEventBodyBytes);
	// As a sender's, it may be 503 on a machine that has no time.
	await expect
		.poll(() => sendAgain(asked, largest), { timeout: 120_000 })
		.toMatchObject({ status: 200 });
	await fixture.routes.put({ ...route, maxBodyBytes: 1_000 });
	await expect
		.poll(() => sendAgain(asked, text(2_000)), { timeout: 120_000 })
		.toMatchObject({ status: 413, error: { code: "BodyTooLarge" } });
	await api.close();
});

test.each(natsRoles.filter((role) => role !== "api"))(
	"%s can't have an event taken again",
	async (role) => {
		const asked = await guardedSource();
		const connection = await as(role);
		const forged = connection.request(
			sendAgainSubject,
			`${JSON.stringify(asked)}\n{}`,
			{ timeout: 120_000 },
		);
		await expect(forged).rejects.toThrow(/permissions violation/i);
		const frames = await readFrames(fixture.admin, fixture.stream);
		const sources = frames.flatMap(({ events }) =>
			events.map(({ sourceKey }) => sourceKey),
		);
		expect(sources).not.toContain(asked.sourceKey);
		await connection.close();
	},
);
