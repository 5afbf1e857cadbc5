import dns, { type LookupAddress } from "node:dns";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import Stripe from "stripe";
import { expect, test, vi } from "vitest";
import { apiserver } from "../../test/support/cli/apiserver.ts";
import { inProcess as tidemill } from "../../test/support/cli/in-process.ts";
import { requestOf } from "./replay-request.ts";

/** What names of the top-level domain `test` resolve to, one answer after the other. */
const answers: string[][] = [];
const { lookup } = dns;
vi.spyOn(dns, "lookup").mockImplementation(((
	name: string,
	options: object,
	done: CallableFunction,
) => {
	if (!name.endsWith(".test")) return lookup(name, options, done as never);
	const addresses = answers.shift() ?? [];
	const all = addresses.map(
		(address): LookupAddress => ({ address, family: 4 }),
	);
	done(null, all);
}) as never);

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

const secret = "whsec_0123456789abcdefghij";

/** `events replay` with a secret, of a Source with this authorization. */
async function replaySigned(
	to: string,
	authorization: object,
	words?: (folder: string) => string[],
	labels: object = { "tidemill.dev/use": "true" },
) {
	const api = await apiserver((line) => {
		if (line.includes("/secrets/"))
			return [
				200,
				{ metadata: { name: "s", labels }, data: { secret: btoa(secret) } },
			];
		return line.includes("/events")
			? [200, { eventId, kind: "json", body: '{"id": "evt_1", "n": 1.10}' }]
			: [200, { name: "shop", webhook: { authorization } }];
	});
	vi.stubEnv("TIDEMILL_API_URL", api.url);
	vi.stubEnv("TIDEMILL_API_TOKEN", "secret");
	const file = join(api.folder, "secret.txt");
	await writeFile(file, `${secret}\n`);
	const end = await tidemill(
		...["events", "replay", "shop", "--to", to, "--event", eventId],
		...(words?.(api.folder) ?? ["--secret-file", file]),
		...api.args,
	);
	vi.unstubAllEnvs();
	return { ...end, asked: api.asked.filter((line) => line.includes("event")) };
}

const stripe = {
	type: "Signature",
	signature: {
		scheme: "Stripe",
		secretRefs: [{ name: "stripe-secret", key: "secret" }],
	},
};

/** A handler that takes what Stripe's library takes. */
async function stripeHandler() {
	const handler = await apiserver((_, body, headers) => {
		try {
			const header = headers["stripe-signature"]!;
			new Stripe("sk_test_x").webhooks.constructEvent(body, header, secret);
			return [204, ""];
		} catch (error) {
			return [401, String(error)];
		}
	});
	return { ...handler, port: new URL(handler.url).port };
}

test("with a secret from a file, standard input or a labelled Secret, an event is signed anew for a handler on this machine", async () => {
	const { url, port } = await stripeHandler();
	answers.push(["127.0.0.1"], ["127.0.0.1"]);
	for (const to of [
		url,
		`http://localhost:${port}/hook`,
		`http://0x7f000001:${port}/hook`,
		`http://[::ffff:127.0.0.1]:${port}/hook`,
		`http://handler.test:${port}/hook`,
	]) {
		const { exitCode, stdout } = await replaySigned(to, stripe);
		expect(stdout, to).toContain(" 204 ");
		expect(exitCode).toBe(0);
	}
	const stdin = vi
		.spyOn(process, "stdin", "get")
		.mockReturnValue(Readable.from([`${secret}\n`]) as typeof process.stdin);
	const byStdin = await replaySigned(url, stripe, () => ["--secret-stdin"]);
	stdin.mockRestore();
	expect(byStdin.stdout).toContain(" 204 ");
	const ref = () => ["--secret-ref", "stripe-secret"];
	const byRef = await replaySigned(url, stripe, ref);
	expect(byRef.stdout).toContain(" 204 ");
	const unlabelled = await replaySigned(url, stripe, ref, {});
	expect(unlabelled.stderr).toContain("lacks the label tidemill.dev/use=true");
	expect(unlabelled.asked).toEqual([]);
});

test.each([
	["http://192.0.2.1/", []],
	["http://0.0.0.0/", []],
	["http://[::ffff:8.8.8.8]/", []],
	["http://[64:ff9b::7f00:1]/", []],
	["http://[::127.0.0.1]/", []],
	["http://[::]/", []],
	["http://nat64.test/", [["64:FF9B::127.0.0.1"]]],
	["http://169.254.169.254/", []],
	["https://10.0.0.1/", []],
	["http://far.test/", [["192.0.2.1"]]],
	["http://both.test/", [["127.0.0.1", "192.0.2.1"]]],
])(
	"nothing is signed for a handler at %s, and no event is asked for",
	async (to, found) => {
		answers.push(...found);
		const { exitCode, stderr, asked } = await replaySigned(to, stripe);
		expect(stderr).toContain("for a handler on this machine alone");
		expect(exitCode).toBe(1);
		expect(asked).toEqual([]);
	},
);

test("a name that leads elsewhere a moment later gets nothing", async () => {
	const { port, asked } = await stripeHandler();
	answers.push(["127.0.0.1"], ["192.0.2.1"]);
	const to = `http://handler.test:${port}/`;
	const { exitCode, stdout } = await replaySigned(to, stripe);
	expect(stdout).toContain("for a handler on this machine alone");
	expect(exitCode).toBe(1);
	expect(asked).toEqual([]);
});

test.each([
	[{ type: "AmazonSNS", amazonSNS: { topicARNs: [] } }, "private key"],
	[{ type: "JWT", jwt: {} }, "private key"],
	[{ type: "None" }, "checks no signature"],
	[
		{
			type: "Signature",
			signature: { scheme: "Custom", custom: { algorithm: "Ed25519" } },
		},
		"private key (Ed25519)",
	],
])(
	"what can't be signed, as by %j, is said before the first event",
	async (authorization, words) => {
		const { url, asked: calls } = await stripeHandler();
		const { exitCode, stderr, asked } = await replaySigned(url, authorization);
		expect(stderr).toContain(words);
		expect(stderr).not.toContain(secret);
		expect(exitCode).toBe(1);
		expect([...asked, ...calls]).toEqual([]);
	},
);
