import { createHmac, randomBytes } from "node:crypto";
import {
	brotliCompressSync,
	deflateSync,
	gzipSync,
	zstdCompressSync,
} from "node:zlib";
// The signer that GitHub publishes for its own webhooks.
import { sign } from "@octokit/webhooks-methods";
import { stringify, version } from "uuid";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { maxEventBodyBytes } from "../../ingest/wire/frame.ts";
import type { FrameEvent } from "../../ingest/wire/frame-event.ts";
import {
	githubPayloads,
	oddities,
	serialisations,
} from "../support/examples/github-payloads.ts";
import {
	type ReceiveFixture,
	readFrames,
	sealKey,
	startReceiveFixture,
} from "../support/fixtures/data-plane/receiver.ts";
import {
	type HttpAnswer,
	send,
	sendJSON,
	untilKnown,
} from "../support/senders/http-client.ts";

let fixture: ReceiveFixture;

beforeAll(async () => {
	fixture = await startReceiveFixture();
});

afterAll(() => fixture.stop());

const json = { "content-type": "application/json" };
const form = { "content-type": "application/x-www-form-urlencoded" };

async function newURL(
	change: Parameters<ReceiveFixture["routes"]["add"]>[0] = {},
): Promise<string> {
	const { path } = await fixture.routes.add(change);
	const url = fixture.receiver.url + path;
	await untilKnown(url);
	return url;
}

/** The stored events of a URL's source, by the event id in the answer. */
async function stored(url: string): Promise<Map<string, FrameEvent>> {
	const sourceKey = url.split("/").at(-2);
	const frames = await readFrames(fixture.admin, fixture.stream);
	return new Map(
		frames
			.flatMap(({ events }) => events)
			.filter((event) => event.sourceKey === sourceKey)
			.map((event) => [stringify(event.id), event]),
	);
}

function text(event: FrameEvent | undefined): string {
	return Buffer.from(event!.body).toString();
}

function expectRefused(answer: HttpAnswer, status: number, code: string) {
	expect(answer).toMatchObject({
		status,
		headers: { "content-type": "application/json" },
		json: {
			is_success: false,
			error: { code, message: expect.stringMatching(/\.$/), details: [] },
		},
	});
}

test("the answer has the event's id, and the event is stored with its bytes and its time of receipt", async () => {
	const url = await newURL({ account: "acme" });
	const before = Date.now();
	const body = '{ "b":1.0,\n"a":"\\u00fc" , "a": [] }\r\n';
	const answer = await sendJSON(url, body);
	const after = Date.now();

	expect(answer).toMatchObject({
		status: 200,
		json: { is_success: true, event_id: expect.any(String) },
	});
	const [[id, event], ...others] = [...(await stored(url))] as [
		[string, FrameEvent],
	];
	expect(others).toEqual([]);
	expect(id).toBe(answer.json.event_id);
	expect(version(id)).toBe(7);
	expect(text(event)).toBe(body);
	expect(event).toMatchObject({ account: "acme", kind: "json", headers: "" });
	expect(event.receivedAtMs).toBeGreaterThanOrEqual(before);
	expect(event.receivedAtMs).toBeLessThanOrEqual(after);
	// RFC 9562 §5.7: the id's first 48 bits are its instant.
	expect(Buffer.from(event.id).readUIntBE(0, 6)).toBe(event.receivedAtMs);
});

test("each of GitHub's payloads is stored byte for byte, whatever its formatting", async () => {
	const url = await newURL();
	const posted = new Map<string, string>();
	const bodies = [...githubPayloads(), { name: "odd", value: oddities }]
		.flatMap(({ value }) =>
			Object.values(serialisations).map((serialise) => serialise(value)),
		)
		.values();
	// A slow disk can cause a 503. The event may be stored all the same.
	let untold = 0;
	const post = async (body: string) => {
		const { status, json } = await sendJSON(url, body);
		if (status === 503) untold++;
		expect(status).toBe(200);
		posted.set(json.event_id, body);
	};
	const senders = Array.from({ length: 20 }, async () => {
		for (const body of bodies)
			await vi.waitFor(() => post(body), { timeout: 120_000 });
	});
	await Promise.all(senders);

	const events = await stored(url);
	expect(posted.size).toBe(330 * Object.keys(serialisations).length);
	expect(events.size).toBeLessThanOrEqual(posted.size + untold);
	for (const [id, body] of posted) expect(text(events.get(id))).toBe(body);
});

test("a form is stored as a JSON object in the order of its names", async () => {
	const url = await newURL();
	const answer = await send(url, {
		headers: { "content-type": `${form["content-type"]}; charset=UTF-8` },
		body: "2=b&1=a+b&2=%C3%BC&__proto__=x&empty=",
	});
	const event = (await stored(url)).get(answer.json.event_id);
	expect(event?.kind).toBe("form");
	expect(text(event)).toBe(
		'{"2":["b","ü"],"1":"a b","__proto__":"x","empty":""}',
	);
});

test("JSON that curl's -d calls a form is stored byte for byte, as JSON", async () => {
	const url = await newURL();
	const body = ' {"a": "b=c&d"}';
	const answer = await send(url, { headers: form, body });
	const event = (await stored(url)).get(answer.json.event_id);
	expect(event?.kind).toBe("json");
	expect(text(event)).toBe(body);
});

test("only the captured headers that were sent are stored", async () => {
	const url = await newURL({
		capturedHeaders: [
			"x-github-event",
			"x-repeated",
			"x-absent",
			"constructor",
		],
	});
	const answer = await sendJSON(url, "{}", {
		headers: {
			"X-GitHub-Event": 'push "é"',
			"X-Repeated": ["a", "b"],
			"X-Other": "x",
		},
	});
	const event = (await stored(url)).get(answer.json.event_id);
	expect(JSON.parse(event!.headers)).toEqual({
		"x-github-event": 'push "é"',
		"x-repeated": "a, b",
	});
});

test("only the captured query parameters that were sent are stored, beside the headers", async () => {
	const url = await newURL({
		capturedHeaders: ["x-a"],
		capturedParameters: ["utm_source", "x-a", "absent", "constructor"],
	});
	const query = "?utm_source=K%C3%A4se+%22&utm_source=2&x-a=3&token=secret";
	const answer = await sendJSON(`${url}${query}`, "{}", {
		headers: { "X-A": "1" },
	});
	const event = (await stored(url)).get(answer.json.event_id);
	expect(JSON.parse(event!.headers)).toEqual({
		"x-a": "1",
		"?utm_source": 'Käse "',
		"?x-a": "3",
	});
});

test("a body is stored however deep its nesting", async () => {
	const url = await newURL();
	const body = "[".repeat(500_000) + "]".repeat(500_000);
	const answer = await sendJSON(url, body);
	expect(text((await stored(url)).get(answer.json.event_id))).toBe(body);
});

test("a body of the largest allowed size is stored, also with others at the same time", async () => {
	const url = await newURL({ maxBodyBytes: 16 * 1024 * 1024 });
	const largest = `"${"x".repeat(maxEventBodyBytes - 2)}"`;
	const small = Array.from({ length: 20 }, (_, n) => `${n}`);
	const bodies = [...small, largest];
	// A slow disk can cause a 503.
	const answers = await Promise.all(
		bodies.map((body) =>
			vi.waitFor(
				async () => {
					const answer = await sendJSON(url, body);
					expect(answer.status).toBe(200);
					return answer;
				},
				{ timeout: 120_000 },
			),
		),
	);
	const events = await stored(url);
	expect(answers.map(({ json }) => text(events.get(json.event_id)))).toEqual(
		bodies,
	);
	expectRefused(await sendJSON(url, `${largest} `), 413, "BodyTooLarge");
});

test("an invalid event is refused with the reason, and nothing of it is stored", async () => {
	const url = await newURL({ maxBodyBytes: 100 });
	const big = `"${"x".repeat(99)}"`;
	const cases: [
		options: Parameters<typeof send>[1],
		status: number,
		code: string,
	][] = [
		[{ body: "x" }, 400, "InvalidJSON"],
		[
			{ body: "x", headers: { "content-type": "text/plain" } },
			400,
			"InvalidJSON",
		],
		[
			{
				body: "a=1",
				headers: {
					"content-type": "application/x-www-form-urlencoded; charset=utf-16",
				},
			},
			415,
			"UnsupportedCharset",
		],
		[{ headers: json }, 400, "EmptyBody"],
		[{ headers: form }, 400, "EmptyBody"],
		[{ headers: json, body: "{" }, 400, "InvalidJSON"],
		[{ headers: json, body: "{} {}" }, 400, "InvalidJSON"],
		[{ headers: json, body: "\ufeff\ufeff{}" }, 400, "InvalidJSON"],
		[{ headers: form, body: '{"order": 1,}' }, 400, "InvalidJSON"],
		[{ headers: form, body: "a=%FF" }, 415, "UnsupportedCharset"],
		[
			{
				headers: { "content-type": "multipart/form-data; boundary=x" },
				body: "--x\r\nContent-Disposition: form-data; name=a; filename=f\r\n\r\n1\r\n--x--",
			},
			415,
			"UnsupportedMultipart",
		],
		// A reader that took one kind of line end would store an empty object.
		[
			{
				headers: { "content-type": "multipart/form-data; boundary=x" },
				body: "--x\nContent-Disposition: form-data; name=a\n\n1\n--x--",
			},
			400,
			"InvalidMultipart",
		],
		[{ headers: json, body: '"\0"' }, 400, "InvalidJSON"],
		[
			{ headers: json, body: Buffer.from("22ff22", "hex") },
			400,
			"InvalidEncoding",
		],
		[{ headers: json, body: big }, 413, "BodyTooLarge"],
		[
			{ headers: { ...json, "content-encoding": "compress" }, body: "{}" },
			415,
			"UnsupportedContentEncoding",
		],
		[
			{ headers: { ...json, "content-encoding": "gzip" }, body: "{}" },
			400,
			"InvalidCompression",
		],
		[
			{
				headers: { ...json, "content-encoding": "gzip" },
				body: gzipSync(big),
			},
			413,
			"BodyTooLarge",
		],
	];
	for (const [options, status, code] of cases)
		expectRefused(await send(url, options), status, code);
	const atTheLimit = await sendJSON(url, big.replace("x", ""));
	expect([...(await stored(url)).keys()]).toEqual([atTheLimit.json.event_id]);
});

test("a JSON body is stored whatever its Content-Type says", async () => {
	const url = await newURL();
	const ids: string[] = [];
	for (const headers of [
		// Amazon SNS's.
		{ "content-type": "text/plain; charset=UTF-8" },
		{ "content-type": "application/octet-stream" },
		{},
	]) {
		const answer = await send(url, {
			headers,
			body: '{"Type":"Notification"}',
		});
		expect(answer.status).toBe(200);
		ids.push(answer.json.event_id);
	}
	const events = await stored(url);
	for (const id of ids)
		expect(text(events.get(id))).toBe('{"Type":"Notification"}');
});

test("a compressed body is stored decompressed", async () => {
	const url = await newURL();
	const body = JSON.stringify({ text: "Käse ".repeat(10_000) });
	const compressed = {
		gzip: gzipSync(body),
		"x-gzip, identity": Buffer.concat([
			gzipSync(body.slice(0, 10_000)),
			gzipSync(body.slice(10_000)),
		]),
		identity: Buffer.from(body),
		"": Buffer.from(body),
		deflate: deflateSync(body),
		br: brotliCompressSync(body),
		zstd: zstdCompressSync(body),
	};
	const ids: string[] = [];
	for (const [encoding, bytes] of Object.entries(compressed)) {
		const headers = { "content-encoding": encoding };
		const answer = await sendJSON(url, bytes, { headers });
		expect(answer.status).toBe(200);
		ids.push(answer.json.event_id);
	}
	const events = await stored(url);
	expect([...events.keys()].toSorted()).toEqual(ids.toSorted());
	for (const id of ids) expect(text(events.get(id))).toBe(body);
});

test("what a form, a multipart form or JSON with a byte order mark says is stored, and a mistake's place is told", async () => {
	const url = await newURL();
	const sent: [type: string, body: string | Buffer, json: string][] = [
		// PayPal's IPN names its charset in a field.
		[
			form["content-type"],
			"first_name=Jos%E9&charset=windows-1252",
			'{"first_name":"José","charset":"windows-1252"}',
		],
		[
			`${form["content-type"]}; charset=Shift_JIS`,
			"a=%93%fa%96%7b",
			'{"a":"日本"}',
		],
		[
			`${form["content-type"]}; charset='CP932'`,
			"a=%93%fa%96%7b",
			'{"a":"日本"}',
		],
		[
			"multipart/form-data; boundary=x",
			'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nü\r\n--x--\r\n',
			'{"a":"ü"}',
		],
		["application/json", "\ufeff{}", "{}"],
		[form["content-type"], "\ufeff{}", "{}"],
	];
	const answers = [];
	for (const [type, body] of sent)
		answers.push(await send(url, { headers: { "content-type": type }, body }));
	expect(answers.map(({ status }) => status)).toEqual(sent.map(() => 200));
	const events = await stored(url);
	expect(answers.map(({ json }) => text(events.get(json.event_id)))).toEqual(
		sent.map(([, , json]) => json),
	);
	for (const headers of [form, json]) {
		const body = '{"a":1}\n{"b":\n';
		const refused = await send(url, { headers, body });
		expectRefused(refused, 400, "InvalidJSON");
		expect(refused.json.error.message).toContain(
			"line 2, column 1: expected the end of the body.",
		);
	}
});

test("a form of 10,000 fields and odd but valid forms become JSON by the URL standard", async () => {
	const url = await newURL();
	const many = Array.from({ length: 10_000 }, (_, n) => `field${n}=${n}`);
	const odd = "=nameless&&a&a=&%=%zz&b=%c3%BC&c=1+1%2B&a=b=c";
	const answers = [];
	for (const body of [many.join("&"), odd])
		answers.push(await send(url, { headers: form, body }));
	const events = await stored(url);
	const [first, second] = answers.map(({ json }) =>
		JSON.parse(text(events.get(json.event_id))),
	);
	expect(Object.keys(first)).toHaveLength(10_000);
	expect(first.field9999).toBe("9999");
	expect(second).toEqual({
		"": "nameless",
		a: ["", "", "b=c"],
		"%": "%zz",
		b: "ü",
		c: "1 1+",
	});
});

test("a URL challenge is answered if the source asks for it, and never stored", async () => {
	const url = await newURL({
		verification: {
			allowGet: true,
			handshakes: ["Slack", "MicrosoftGraph", "EventGrid"],
		},
	});
	expect(await send(url, { method: "GET" })).toMatchObject({
		status: 200,
		json: { is_success: true },
	});
	expect(await send(url, { method: "HEAD" })).toMatchObject({ status: 200 });
	const graph = await fetch(`${url}?validationToken=a%20b`, { method: "POST" });
	expect(graph.headers.get("content-type")).toBe("text/plain; charset=utf-8");
	expect(await graph.text()).toBe("a b");
	const slack = await fetch(url, {
		method: "POST",
		headers: json,
		body: '{"type":"url_verification","challenge":"3eZbrw1a"}',
	});
	expect(await slack.text()).toBe("3eZbrw1a");
	const grid = await sendJSON(url, '[{"data":{"validationCode":"512d38b6"}}]', {
		headers: { "aeg-event-type": "SubscriptionValidation" },
	});
	expect(grid.json).toEqual({ validationResponse: "512d38b6" });
	const cloudEvents = await send(url, {
		method: "OPTIONS",
		headers: { "webhook-request-origin": "eventgrid.azure.net" },
	});
	expect(cloudEvents.headers["webhook-allowed-origin"]).toBe(
		"eventgrid.azure.net",
	);
	expect(await stored(url)).toEqual(new Map());
	expect((await sendJSON(url, "{}")).status).toBe(200);
	expect((await stored(url)).size).toBe(1);
});

/** What every answer has whose words a Source or a sender chose. */
const noPage = {
	"x-content-type-options": "nosniff",
	"content-security-policy": "sandbox",
};

test("a source has answers of its own to challenges, which no browser takes for a page", async () => {
	const url = await newURL({
		verification: {
			allowGet: false,
			handshakes: [],
			challenges: [
				{
					match: { method: "GET", queryParameter: "challenge" },
					answer: {
						status: 201,
						contentType: "application/xml",
						template: "<a>{queryParameter:challenge}</a>",
					},
				},
				{
					match: { method: "POST", header: "x-hook-secret" },
					answer: {
						status: 204,
						contentType: "text/plain",
						template: "",
						headers: [
							{ name: "x-hook-secret", template: "{header:x-hook-secret}" },
						],
					},
				},
				{
					match: { method: "POST", bodyPointer: "/challenge" },
					answer: {
						status: 200,
						contentType: "application/json",
						template: '{"challenge":"{bodyPointer:/challenge}"}',
					},
				},
			],
		},
	});
	const byGet = await fetch(`${url}?challenge=%3Cb%3E`);
	expect(byGet.status).toBe(201);
	expect(Object.fromEntries(byGet.headers)).toMatchObject({
		...noPage,
		"content-type": "application/xml",
	});
	expect(await byGet.text()).toBe("<a>&#60;b&#62;</a>");
	const byHeader = await send(url, { headers: { "x-hook-secret": "s 1" } });
	expect(byHeader).toMatchObject({
		status: 204,
		headers: { ...noPage, "x-hook-secret": "s 1" },
	});
	expect(byHeader.headers).not.toHaveProperty("content-length");
	const byBody = await sendJSON(url, '{"challenge":"a\\"b"}');
	expect(byBody).toMatchObject({
		status: 200,
		headers: { ...noPage, "content-type": "application/json" },
		json: { challenge: 'a"b' },
	});
	expect(await stored(url)).toEqual(new Map());
	expectRefused(
		await send(`${url}?challenge=${"x".repeat(4_090)}`, { method: "GET" }),
		400,
		"ChallengeInvalid",
	);
	expectRefused(await send(url, { method: "GET" }), 405, "MethodNotAllowed");
});

test("nobody gets the signature of an event as the answer to a challenge, and no event looks like a challenge", async () => {
	const secret = "It's a Secret to Everybody";
	const sourceKey = randomBytes(16).toString("hex");
	const url = await newURL({
		sourceKey,
		authorization: {
			type: "Signature",
			scheme: "GitHub",
			keys: [
				{
					algorithm: "HMAC",
					sealed: sealKey.seal(Buffer.from(secret), sourceKey),
				},
			],
			toleranceSeconds: 300,
		},
		verification: {
			allowGet: false,
			handshakes: [],
			challenges: [
				{
					match: { method: "GET", queryParameter: "crc_token" },
					answer: {
						status: 200,
						contentType: "application/json",
						template: '{"response_token":"sha256={computed}"}',
						compute: {
							algorithm: "SHA256",
							encoding: "Hex",
							input: "{queryParameter:crc_token}",
						},
					},
				},
			],
		},
	});
	const ask = (token: string) =>
		send(`${url}?crc_token=${encodeURIComponent(token)}`, { method: "GET" });
	const signed = async (body: string | Buffer, headers = {}) =>
		send(url, {
			headers: {
				...json,
				...headers,
				"x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
			},
			body,
		});
	expect((await ask("123")).json).toEqual({
		response_token: await sign(secret, "123"),
	});
	for (const event of ['{"order":1}', "[1]", "1.5", '"a"', " 1"])
		expectRefused(await ask(event), 400, "ChallengeInvalid");
	// With the answer to a challenge as its signature, or with the provider's.
	for (const body of ["123", "null", ""])
		expectRefused(await signed(body), 400, "BodyLikeChallenge");
	// Signed is what was sent, and stored what it decompresses to. Either could be a challenge.
	const inner = gzipSync("123");
	const outer = { "content-encoding": "gzip" };
	expectRefused(await signed(inner, outer), 400, "BodyLikeChallenge");
	expectRefused(
		await signed("abc", { "content-encoding": "br" }),
		400,
		"BodyLikeChallenge",
	);
	expectRefused(await sendJSON(url, "123"), 401, "SignatureInvalid");
	expect(await stored(url)).toEqual(new Map());
	expect((await signed('{"order":1}')).status).toBe(200);
});

test("a source has an answer of its own to a stored event, with the event's id in a header", async () => {
	const url = await newURL({
		response: {
			status: 202,
			contentType: "text/xml",
			body: "<Response>ü</Response>",
		},
	});
	const xml = await fetch(url, { method: "POST", body: "{}" });
	expect(xml.status).toBe(202);
	expect(Object.fromEntries(xml.headers)).toMatchObject({
		...noPage,
		"content-type": "text/xml; charset=utf-8",
	});
	expect(await xml.text()).toBe("<Response>ü</Response>");
	expect([...(await stored(url)).keys()]).toEqual([
		xml.headers.get("tidemill-event-id"),
	]);
	expectRefused(await sendJSON(url, "{"), 400, "InvalidJSON");

	const empty = await newURL({
		response: { status: 204, contentType: "text/plain", body: "" },
	});
	expect((await sendJSON(empty, "{")).json.error.code).toBe("InvalidJSON");
	const answer = await sendJSON(empty, "{}");
	expect(answer.status).toBe(204);
	expect(answer.headers).not.toHaveProperty("content-length");
	expect([...(await stored(empty)).keys()]).toEqual([
		answer.headers["tidemill-event-id"],
	]);
});

test("a source's refusals have no content if it wants none", async () => {
	const url = await newURL({
		response: {
			status: 200,
			contentType: "text/plain",
			body: "",
			emptyRefusals: true,
		},
	});
	for (const answer of [
		await sendJSON(url, "{"),
		await send(url, { method: "GET" }),
	]) {
		expect(answer.status).toBeGreaterThan(399);
		expect(answer.headers).toMatchObject({ "content-length": "0" });
		expect(answer.headers).not.toHaveProperty("content-type");
	}
	expect((await sendJSON(url, "{}")).headers).toMatchObject({
		"content-length": "0",
	});
});

test("an empty body is null where its source says so, of whatever type, and else refused", async () => {
	const url = await newURL({
		emptyBody: "Null",
		capturedHeaders: ["x-goog-resource-state"],
	});
	const headers = { "x-goog-resource-state": "exists" };
	const answers = [
		await send(url, { headers }),
		await send(url, { headers: { ...headers, ...form } }),
		await send(url, {
			headers: { ...headers, "content-encoding": "gzip" },
			body: gzipSync(""),
		}),
	];
	const events = await stored(url);
	for (const { status, json } of answers) {
		expect(status).toBe(200);
		const event = events.get(json.event_id)!;
		expect(text(event)).toBe("null");
		expect(JSON.parse(event.headers)).toEqual(headers);
	}
	expectRefused(await send(await newURL()), 400, "EmptyBody");
});

test("an unknown source key, a wrong url key and a wrong path are 404", async () => {
	const url = await newURL();
	for (const other of [
		url.replace(/.$/, (digit) => (digit === "0" ? "1" : "0")),
		url.replace(/hooks\/./, (start) =>
			start.endsWith("0") ? "hooks/1" : "hooks/0",
		),
		`${url}//`,
		`${fixture.receiver.url}/`,
	])
		expectRefused(await sendJSON(other, "{}"), 404, "UnknownURL");
});

test("any method but POST is refused", async () => {
	const url = await newURL();
	for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
		const answer = await send(url, { method });
		expectRefused(answer, 405, "MethodNotAllowed");
		expect(answer.headers.allow).toBe("POST");
	}
	expect(await send(url, { method: "HEAD" })).toMatchObject({ status: 405 });
	const checked = await newURL({
		verification: { allowGet: true, handshakes: ["EventGrid"] },
	});
	expect(await send(checked, { method: "PUT" })).toMatchObject({
		status: 405,
		headers: { allow: "POST, GET, HEAD, OPTIONS" },
	});
});

test("a source with a token accepts the token in each of its places, and nothing without it", async () => {
	const sourceKey = randomBytes(16).toString("hex");
	const url = await newURL({
		sourceKey,
		authorization: {
			type: "CustomToken",
			digests: ["s3cret+", "older"].map((token) =>
				sealKey.digest(token, sourceKey),
			),
		},
	});
	const answers = await Promise.all([
		sendJSON(url, "1", { headers: { authorization: "Bearer s3cret+" } }),
		sendJSON(url, "2", { headers: { "x-webhook-token": "older" } }),
		sendJSON(`${url}?x=y&token=s3cret%2B`, "3"),
	]);
	expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);

	for (const answer of await Promise.all([
		sendJSON(url, "4"),
		sendJSON(url, "5", { headers: { authorization: "Bearer s3cret" } }),
		sendJSON(`${url}?token=`, "6"),
	])) {
		expectRefused(answer, 401, "Unauthorized");
		expect(answer.headers["www-authenticate"]).toContain("Bearer");
	}
	expect((await stored(url)).size).toBe(3);
});

test("a suspended source refuses events, and tells only authorized senders why", async () => {
	const sourceKey = randomBytes(16).toString("hex");
	const url = await newURL({
		sourceKey,
		suspended: true,
		authorization: {
			type: "CustomToken",
			digests: [sealKey.digest("t", sourceKey)],
		},
	});
	expectRefused(await sendJSON(`${url}?token=t`, "1"), 403, "SourceSuspended");
	expectRefused(await sendJSON(url, "1"), 401, "Unauthorized");
});

test("a source with signatures accepts only bodies whose exact bytes are signed", async () => {
	const sourceKey = randomBytes(16).toString("hex");
	const url = await newURL({
		sourceKey,
		authorization: {
			type: "Signature",
			scheme: "GitHub",
			keys: ["new", "old"].map((secret) => ({
				algorithm: "HMAC",
				sealed: sealKey.seal(Buffer.from(secret), sourceKey),
			})),
			toleranceSeconds: 300,
		},
	});
	const body = '{ "b" : 1.0 }\n';
	const signedBy = async (secret: string, text = body) => ({
		headers: { "x-hub-signature-256": await sign(secret, text) },
	});
	for (const secret of ["new", "old"])
		expect(await sendJSON(url, body, await signedBy(secret))).toMatchObject({
			status: 200,
		});
	for (const options of [
		{},
		await signedBy("other"),
		await signedBy("new", JSON.stringify(JSON.parse(body))),
	])
		expectRefused(await sendJSON(url, body, options), 401, "SignatureInvalid");
	expect((await stored(url)).size).toBe(2);
});

test("signing secrets sealed for another source are unusable: events get 503 until the route is right", async () => {
	const url = await newURL({
		authorization: {
			type: "Signature",
			scheme: "GitHub",
			keys: [
				{ algorithm: "HMAC", sealed: sealKey.seal(Buffer.from("x"), "other") },
			],
			toleranceSeconds: 300,
		},
	});
	const headers = { "x-hub-signature-256": await sign("x", "{}") };
	expectRefused(await sendJSON(url, "{}", { headers }), 503, "KeyUnavailable");
});
