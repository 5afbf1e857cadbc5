import { createHmac, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { eventually } from "../support/fixtures/data-plane/archive-fixture.ts";
import { IdempotencyFixture } from "../support/fixtures/data-plane/idempotency-fixture.ts";
import { metric, sealKey } from "../support/fixtures/data-plane/receiver.ts";
import { sendJSON } from "../support/senders/http-client.ts";

test("a repeat has the first event's id and no second row, at another receiver, after restarts and after archiving", async () => {
	const fixture = await IdempotencyFixture.start();
	const [one, two] = [await fixture.receiver(), await fixture.receiver()];
	const source = await fixture.source();
	const first = await source.stored(one, "k", '{"n":1}');
	expect(await source.stored(one, "k")).toBe(first);
	expect(await source.stored(two, "k", '{"other":"body"}')).toBe(first);
	const other = await source.stored(two, "another");
	expect(other).not.toBe(first);

	await two.kill();
	await two.start();
	expect(await source.stored(two, "k")).toBe(first);
	await fixture.servers.nats.kill();
	await fixture.servers.nats.start();
	expect(await source.stored(one, "k")).toBe(first);
	await fixture.archiveAll();
	expect(await source.stored(two, "k")).toBe(first);
	expect((await fixture.storedIds()).sort()).toEqual([first, other].sort());
	// They are counted now and then, while keys come in.
	await eventually(async () => {
		await source.stored(two, "k");
		expect(await metric(two, "tidemill_receive_idempotency_keys")).toBe(2);
	});
});

test("a repeat gets its Source's own answer, with the first event's id", async () => {
	const fixture = await IdempotencyFixture.start();
	const receiver = await fixture.receiver();
	const source = await fixture.source({
		response: { status: 204, contentType: "text/plain", body: "" },
	});
	const answers = [
		await source.send(receiver, "k"),
		await source.send(receiver, "k"),
	];
	const ids = answers.map(({ headers }) => headers["tidemill-event-id"]);
	expect(answers.map(({ status }) => status)).toEqual([204, 204]);
	await fixture.archiveAll();
	expect(await fixture.storedIds()).toEqual([ids[0]]);
	expect(ids[1]).toBe(ids[0]);
});

test("requests without a key are events of their own, and Sources share no keys", async () => {
	const fixture = await IdempotencyFixture.start();
	const receiver = await fixture.receiver();
	const source = await fixture.source();
	const neighbour = await fixture.source();
	const ids = [
		await source.stored(receiver),
		await source.stored(receiver),
		await source.stored(receiver, "k"),
		await neighbour.stored(receiver, "k"),
	];
	expect(new Set(ids).size).toBe(4);
	await fixture.archiveAll();
	expect((await fixture.storedIds()).sort()).toEqual(ids.sort());
});

test("an event that the tracking plan rejects takes no key: corrected, it is stored under the same one, once", async () => {
	const fixture = await IdempotencyFixture.start();
	const receiver = await fixture.receiver();
	const plan = await fixture.routes.putPlan({
		version: 1,
		account: "shop",
		plan: "orders",
		eventType: { constant: "order" },
		events: [{ type: "order", schema: { required: ["id"] } }],
		onUnplannedEvent: "Reject",
		onViolation: "Reject",
		onUnplannedProperty: "Allow",
	});
	const source = await fixture.source({ plan });
	const warm = await source.stored(receiver, "warm", '{"id":0}');
	const rejected = await source.send(receiver, "k", '{"no":1}');
	expect(rejected.status).toBe(400);
	expect(await source.entry("k")).toBeUndefined();
	const first = await source.stored(receiver, "k", '{"id":1}');
	// A body that would be rejected is validated before its key is looked at.
	expect((await source.send(receiver, "k", '{"no":1}')).status).toBe(400);
	expect(await source.stored(receiver, "k", '{"id":1}')).toBe(first);
	await fixture.archiveAll();
	expect((await fixture.storedIds()).sort()).toEqual([warm, first].sort());
	expect(await fixture.archive.bodies()).toEqual(['{"id":0}', '{"id":1}']);
});

test("of many requests at once with one key, one is stored and the others wait or have its id", async () => {
	const fixture = await IdempotencyFixture.start();
	const receivers = [await fixture.receiver(), await fixture.receiver()];
	const source = await fixture.source();
	await source.stored(receivers[0]!, "warm");
	await source.stored(receivers[1]!, "warm");
	const answers = await Promise.all(
		Array.from({ length: 60 }, (_, n) => source.send(receivers[n % 2]!, "k")),
	);
	const id = await source.stored(receivers[0]!, "k");
	for (const { status, json } of answers)
		if (status === 200) expect(json.event_id).toBe(id);
	for (const { status, json, headers } of answers)
		if (status !== 200) {
			expect(status).toBe(503);
			// The second when NATS had no time to answer.
			expect(["KeyInUse", "StorageUnavailable"]).toContain(json.error.code);
			expect(Number(headers["retry-after"])).toBeGreaterThan(0);
		}
	await fixture.archiveAll();
	expect(await fixture.storedIds()).toHaveLength(2);
});

test("after the window the same key makes another event", async () => {
	const fixture = await IdempotencyFixture.start();
	const receiver = await fixture.receiver();
	const source = await fixture.source({
		idempotency: { key: { header: "idempotency-key" }, windowSeconds: 10 },
	});
	const first = await source.stored(receiver, "k");
	// Also an entry that was written a second time ends with the window of the first.
	await eventually(async () =>
		expect(await source.entry("k")).toMatchObject({ state: "stored" }),
	);
	await eventually(async () => expect(await source.entry("k")).toBeUndefined());
	const second = await source.stored(receiver, "k");
	expect(second).not.toBe(first);
	await fixture.archiveAll();
	expect((await fixture.storedIds()).sort()).toEqual([first, second].sort());
});

test("beyond the bound only new keys are refused, until keys expire", async () => {
	const fixture = await IdempotencyFixture.start(3);
	const receiver = await fixture.receiver();
	const source = await fixture.source();
	const brief = await fixture.source({
		source: "brief",
		idempotency: { key: { header: "idempotency-key" }, windowSeconds: 10 },
	});
	const first = await source.stored(receiver, "0");
	let n = 1;
	await eventually(async () => {
		const { status, json } = await brief.send(receiver, String(n++));
		expect([status, json.error?.code]).toEqual([503, "TooManyKeys"]);
	});
	expect(await source.stored(receiver, "0")).toBe(first);
	await source.stored(receiver);
	expect(
		await metric(
			receiver,
			'tidemill_receive_requests_total{account="shop",source="brief",code="TooManyKeys"}',
		),
	).toBeGreaterThan(0);
	await brief.stored(receiver, "at last");
});

test("sending a recorded signed request again stores no second event, whatever its unsigned headers say", async () => {
	const fixture = await IdempotencyFixture.start();
	const receiver = await fixture.receiver();
	const sourceKey = randomBytes(16).toString("hex");
	const { path } = await fixture.routes.add({
		sourceKey,
		authorization: {
			type: "Signature",
			scheme: "GitHub",
			keys: [
				{
					algorithm: "HMAC",
					sealed: sealKey.seal(Buffer.from("hush"), sourceKey),
				},
			],
			toleranceSeconds: 300,
		},
		idempotency: { key: { signature: true }, windowSeconds: 600 },
	});
	const deliver = (body: string, delivery: string, upperCase = false) =>
		eventually(async () => {
			const hex = createHmac("sha256", "hush").update(body).digest("hex");
			const { status, json } = await sendJSON(receiver.url + path, body, {
				headers: {
					"x-hub-signature-256": `sha256=${upperCase ? hex.toUpperCase() : hex}`,
					"x-github-delivery": delivery,
				},
			});
			if (status !== 200) throw new Error(`${status} ${json.error.code}`);
			return json.event_id as string;
		});
	const first = await deliver('{"n":1}', "one");
	expect(await deliver('{"n":1}', "forged")).toBe(first);
	expect(await deliver('{"n":1}', "forged too", true)).toBe(first);
	const second = await deliver('{"n":2}', "two");
	await fixture.archiveAll();
	expect((await fixture.storedIds()).sort()).toEqual([first, second].sort());
});

test("an event that several hooks deliver is one of each, and a key that an earlier version kept still counts", async () => {
	const fixture = await IdempotencyFixture.start();
	const receiver = await fixture.receiver();
	const header = "x-github-delivery";
	const { path, route } = await fixture.routes.add({
		idempotency: { key: { header }, windowSeconds: 600 },
	});
	const deliver = (delivery: string, hook: string) =>
		eventually(async () => {
			const { status, json } = await sendJSON(receiver.url + path, "{}", {
				headers: { [header]: delivery, "x-github-hook-id": hook },
			});
			if (status !== 200) throw new Error(`${status} ${json.error.code}`);
			return json.event_id as string;
		});
	const before = await deliver("before", "1");
	const within = "x-github-hook-id";
	await fixture.routes.put({
		...route,
		idempotency: { key: { header, within }, windowSeconds: 600 },
	});
	// Until receive has heard of it, a second hook's delivery is a repeat.
	await eventually(async () => {
		const probe = randomBytes(8).toString("hex");
		expect(await deliver(probe, "2")).not.toBe(await deliver(probe, "1"));
	});
	expect(await deliver("before", "1")).toBe(before);
	const ids = [await deliver("after", "1"), await deliver("after", "2")];
	expect(ids[1]).not.toBe(ids[0]);
	expect([await deliver("after", "1"), await deliver("after", "2")]).toEqual(
		ids,
	);
	await fixture.archiveAll();
	expect(await fixture.storedIds()).toEqual(
		expect.arrayContaining([before, ...ids]),
	);
});
