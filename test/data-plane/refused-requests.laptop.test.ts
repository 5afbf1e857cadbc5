import { createHmac, randomBytes } from "node:crypto";
import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readRefusedFrom } from "../../api/events/refused-requests.ts";
import { openRefusedStream } from "../../ingest/archive/refused-stream.ts";
import { refused } from "../../packages/contracts/nats.ts";
import { maxKeptOfSource } from "../../packages/contracts/refused-request.ts";
import type {
	Route,
	SignatureAuthorization,
	UnavailableAuthorization,
} from "../../packages/contracts/route.ts";
import {
	metric,
	type ReceiveFixture,
	sealKey,
	startReceiveFixture,
} from "../support/fixtures/data-plane/receiver.ts";
import { send, untilKnown } from "../support/senders/http-client.ts";
import { connectAs } from "../support/servers/servers.ts";

/* What people see of the requests that receive refuses: real receive, real NATS, and the users of each role. */

const soon = { timeout: 120_000, interval: 50 };
const json = { "content-type": "application/json" };

let fixture: ReceiveFixture;
let api: NatsConnection;
let read: ReturnType<typeof readRefusedFrom>;

beforeAll(async () => {
	fixture = await startReceiveFixture();
	const archive = await connectAs(fixture.nats, "archive");
	// Archive opens it again and again.
	await openRefusedStream(archive, 1);
	await openRefusedStream(archive, 1);
	await archive.close();
	api = await connectAs(fixture.nats, "api");
	read = readRefusedFrom(() => api);
});

afterAll(async () => {
	await api.close();
	await fixture.stop();
});

async function newSource(
	change: Partial<Route> = {},
): Promise<{ url: string; route: Route }> {
	const { path, route } = await fixture.routes.add(change);
	const url = fixture.receiver.url + path;
	await untilKnown(url);
	return { url, route };
}

async function refusalsOf({ account, sourceKey }: Route) {
	const kept = await read(account, sourceKey);
	return kept.map(({ request }) => request);
}

/** The check that a URL is known is a request of its own, which is refused. */
async function untilRefused(route: Route, code: string) {
	return vi.waitFor(async () => {
		const found = (await refusalsOf(route)).find((one) => one.code === code);
		expect(found).toBeDefined();
		return found!;
	}, soon);
}

test("a refused request is there with its reason and the head of its body, without its URL and its token", async () => {
	const { url, route } = await newSource();
	const token = "s3cr3t-value-of-a-sender";
	await send(`${url}?token=${token}`, {
		headers: { ...json, authorization: `Bearer ${token}`, "x-shop": "private" },
		body: `{"order": 1, "echo": "${token}", "token": "another", `,
	});
	const found = await untilRefused(route, "InvalidJSON");
	expect(found).toMatchObject({
		status: 400,
		method: "POST",
		cause: expect.stringMatching(/^line 1, column \d+: expected a name in /),
		contentType: "application/json",
		bodyHead: '{"order": 1, "echo": "[redacted]", "token": [redacted], ',
	});
	expect(found.headerNames).toContain("x-shop");
	const text = JSON.stringify(await refusalsOf(route));
	for (const hidden of [token, "another", "private", url.split("/").at(-1)!])
		expect(text).not.toContain(hidden);
});

/** An HMAC as the scheme Stripe wants it. */
function stripe(secret: string, body: string, time = Date.now() / 1_000) {
	const seconds = Math.floor(time);
	const hmac = createHmac("sha256", secret).update(`${seconds}.${body}`);
	return { "stripe-signature": `t=${seconds},v1=${hmac.digest("hex")}` };
}

const sentence = /^The signature is missing or wrong, or its timestamp /;

test("people read what is wrong with a signature, and its sender reads one sentence", async () => {
	const sourceKey = randomBytes(16).toString("hex");
	const keys = ["old", "new"].map((secret) => ({
		algorithm: "HMAC" as const,
		sealed: sealKey.seal(Buffer.from(secret), sourceKey),
		from: { secret: "hush", key: secret },
	}));
	const signed = (scheme: SignatureAuthorization["scheme"]) => ({
		type: "Signature" as const,
		scheme,
		keys,
		toleranceSeconds: 300,
	});
	const source = await newSource({
		sourceKey,
		authorization: signed("Stripe"),
	});
	const right = stripe("new", "{}")["stripe-signature"];
	const late = stripe("new", "{}", Date.now() / 1_000 - 400);
	const early = stripe("new", "{}", Date.now() / 1_000 + 4_000);
	const none =
		/^None of 2 secrets matches the signature\. Read: 1 signature \(HMAC-SHA256\) in hexadecimal, as scheme Stripe has it\. Tried: key "old" of Secret "hush", key "new" of Secret "hush"\.$/;
	for (const [headers, cause] of [
		[{}, /^The header stripe-signature is missing\. No key was tried\.$/],
		[{ "stripe-signature": "v1=00" }, /stripe-signature can't be decoded/],
		[{ "stripe-signature": "t=soon,v1=00" }, /stripe-signature can't be dec/],
		[{ "stripe-signature": right.replace("v1", "v0") }, /can't be decoded/],
		[{ "stripe-signature": right.slice(0, -1) }, /is not hexadecimal of the/],
		[late, /^The signed time is 4\d\d s behind receive's clock; toleranceSeco/],
		[early, /^The signed time is [34]\d\d\d s ahead of receive's clock/],
		[stripe("other", "{}"), none],
		[stripe("new", "{} "), none],
	] as const) {
		const answer = await send(source.url, {
			headers: { ...json, ...headers },
			body: "{}",
		});
		expect(answer.status).toBe(401);
		expect(answer.json.error.message).toMatch(sentence);
		expect(JSON.stringify(answer.json)).not.toMatch(cause);
		await vi.waitFor(async () => {
			const causes = (await refusalsOf(source.route)).map((one) => one.cause);
			expect(causes.at(-1)).toMatch(cause);
		}, soon);
	}
});

test("people read why a public key can't be fetched, and its sender sends again", async () => {
	const { url, route } = await newSource({
		authorization: {
			type: "Signature",
			scheme: "Custom",
			keys: [],
			toleranceSeconds: 300,
			custom: {
				header: "x-signature",
				algorithm: "Ed25519",
				encoding: "Hex",
				signedString: "{body}",
				publicKey: { url: "https://keys.example/key.pem" },
			},
		},
	});
	const headers = { ...json, "x-signature": "00".repeat(64) };
	const answer = await send(url, { headers, body: "{}" });
	expect(answer.status).toBe(503);
	expect(answer.headers["retry-after"]).toBe("10");
	const cause = "Notify doesn't answer.";
	expect(JSON.stringify(answer.json)).not.toContain(cause);
	expect(await untilRefused(route, "KeysUnavailable")).toMatchObject({ cause });
});

test("while its Secret can't be read, a Source asks senders to repeat what carries a signature or token, and people read why", async () => {
	const cause = 'There is no Secret "hush" in namespace "acme".';
	const awaiting = (awaits: NonNullable<UnavailableAuthorization["awaits"]>) =>
		newSource({ authorization: { type: "Unavailable", awaits, cause } });
	const scheme = {
		type: "Signature" as const,
		keys: [],
		toleranceSeconds: 300,
	};
	const token = await awaiting({ type: "CustomToken" });
	const stripes = await awaiting({ ...scheme, scheme: "Stripe" });
	const inBody = await awaiting({
		...scheme,
		scheme: "Custom",
		custom: {
			bodyPointer: "/signature",
			algorithm: "SHA256",
			encoding: "Hex",
			signedString: "{bodyPointer:/id}",
		},
	});
	const answerOf = async (url: string, headers: object, body = "{}") => {
		const answer = await send(url, { headers: { ...json, ...headers }, body });
		expect(JSON.stringify(answer.json)).not.toContain("hush");
		return [answer.status, answer.headers["retry-after"]];
	};
	for (const [{ url }, headers, body] of [
		[token, { authorization: "Bearer t" }],
		[token, { "x-webhook-token": "t" }],
		[stripes, stripe("any", "{}")],
		[inBody, {}, '{"id":1,"signature":"00"}'],
	] as const)
		expect(await answerOf(url, headers, body)).toEqual([503, "60"]);
	expect(await answerOf(`${token.url}?token=t`, {})).toEqual([503, "60"]);
	for (const { route } of [token, stripes, inBody])
		expect(await untilRefused(route, "SecretUnavailable")).toMatchObject({
			cause,
		});
	for (const [{ url }, headers, body] of [
		[token, {}],
		[stripes, {}],
		[stripes, { "stripe-signature": "v1=00" }],
		[stripes, { authorization: "Bearer t" }],
		[inBody, {}, '{"id":1}'],
		[inBody, {}, "{}"],
	] as const)
		expect(await answerOf(url, headers, body)).toEqual([401, undefined]);
});

test("a Source's refusals are its own, and an unknown URL's are nobody's", async () => {
	const mine = await newSource({ account: "acme" });
	const theirs = await newSource({ account: "bank" });
	await send(mine.url, { headers: json, body: "not JSON" });
	await untilRefused(mine.route, "InvalidJSON");
	const codes = (await refusalsOf(theirs.route)).map(({ code }) => code);
	expect(codes).not.toContain("InvalidJSON");
	expect(await refusalsOf({ ...mine.route, account: "bank" })).toEqual([]);

	const wrong = mine.url.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
	const answer = await send(wrong, { headers: json, body: "not JSON" });
	expect(answer.status).toBe(404);
	await send(mine.url, { headers: json, body: "" });
	await untilRefused(mine.route, "EmptyBody");
	const all = (await refusalsOf(mine.route)).map(({ code }) => code);
	expect(all).not.toContain("UnknownURL");
});

test("a flood at one Source leaves another's refusals, and is counted", async () => {
	const quiet = await newSource({ account: "acme" });
	await send(quiet.url, { headers: json, body: "not JSON" });
	await untilRefused(quiet.route, "InvalidJSON");
	const loud = await newSource({ account: "acme" });
	for (let i = 0; i < 3; i++)
		await Promise.all(
			Array.from({ length: 40 }, () =>
				send(loud.url, { headers: json, body: "not JSON" }),
			),
		);
	await untilRefused(loud.route, "InvalidJSON");
	expect((await refusalsOf(loud.route)).length).toBeLessThan(maxKeptOfSource);
	await untilRefused(quiet.route, "InvalidJSON");
	const name = 'tidemill_receive_refused_records_total{outcome="left_out"}';
	expect(await metric(fixture.receiver, name)).toBeGreaterThan(50);
});

test("only receive writes there, and receive reads nothing", async () => {
	const { account, sourceKey } = (await newSource()).route;
	const subject = refused.subject(account, sourceKey);
	await expect(
		api.request(subject, "forged", { timeout: 60_000 }),
	).rejects.toThrow(/permissions violation/i);
	const receive = await connectAs(fixture.nats, "receive");
	await expect(
		receive.request(`$JS.API.DIRECT.GET.${refused.stream}`, '{"seq":1}', {
			timeout: 60_000,
		}),
	).rejects.toThrow(/permissions violation/i);
	await receive.close();
});
