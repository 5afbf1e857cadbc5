import {
	createHmac,
	generateKeyPairSync,
	type KeyObject,
	sign,
} from "node:crypto";
import { gzipSync } from "node:zlib";
import { SignJWT } from "jose";
import { beforeEach, expect, test } from "vitest";
import { routeWith } from "../../../test/support/examples/route-example.ts";
import { RequestAdmission } from "../admission/admission.ts";
import { MemoryBudget } from "../admission/budget.ts";
import { RequestLimits } from "../admission/limits.ts";
import type {
	PresentedSignature,
	SignatureInBody,
} from "../request/presented-signature.ts";
import { refusals } from "../request/refusal.ts";
import type { AcceptedHead } from "../request/request-head.ts";
import type { SigningKey } from "../request/signature-check.ts";
import { type PresentedToken, tokenIn } from "../request/web-token.ts";
import { type BodyOutcome, type NotifyHelp, SentBody } from "./sent-body.ts";

const key = "0".repeat(32);
const nothing = Buffer.alloc(0);
const long = Buffer.from(
	JSON.stringify(
		Array.from({ length: 40_000 }, (_, n) => (n * 7_919) % 100_003),
	),
);
const { publicKey, privateKey } = generateKeyPairSync("ed25519");

let budget: MemoryBudget;
let limits: RequestLimits;

beforeEach(() => {
	budget = new MemoryBudget(1_000, 10_000_000);
	limits = new RequestLimits(budget);
});

/** Validates a body; what it becomes, and whether that was known at once. */
async function validated(
	body: Buffer,
	change: Partial<AcceptedHead> = {},
	signingKeys: SigningKey[] = [],
	help: NotifyHelp = {},
): Promise<{ outcome: BodyOutcome; atOnce: boolean; held: number }> {
	const head: AcceptedHead = {
		route: {
			...(change.signature ? signedRoute : routeWith(key, key)),
			signingKeys,
		},
		signature: undefined,
		kind: "json",
		encoding: undefined,
		headers: "",
		query: undefined,
		maxBodyBytes: 1_000_000,
		...change,
	};
	const end = () => {};
	const admission = RequestAdmission.enter(head.route, limits, {
		begin: end,
		giveUp: end,
		tooSlow: end,
	})!;
	admission.take(body.length);
	const { promise, resolve } = Promise.withResolvers<BodyOutcome>();
	let isKnown = false;
	new SentBody(head, {}, admission, limits, help, (outcome) => {
		expect(isKnown).toBe(false);
		isKnown = true;
		resolve(outcome);
	}).validate([body.subarray(0, 10), body.subarray(10)]);
	const atOnce = isKnown;
	return { outcome: await promise, atOnce, held: admission.bytes };
}

function presented(
	algorithm: "HMAC" | "Ed25519",
	text: string,
): PresentedSignature {
	const texts = [{ algorithm, text }];
	return { texts, hash: "sha256", encoding: "hex", signed: [nothing, nothing] };
}

const signedRoute = {
	...routeWith(key, key),
	authorization: {
		type: "Signature" as const,
		scheme: "Custom" as const,
		keys: [],
		toleranceSeconds: 30,
	},
};

const textOf = (outcome: BodyOutcome) =>
	"text" in outcome ? Buffer.concat(outcome.text.parts).toString() : outcome;

test("a short body is validated at once, and a long one beside what others send", async () => {
	expect(await validated(Buffer.from('{"a":1}      '))).toMatchObject({
		atOnce: true,
		held: 13,
	});
	const { outcome, atOnce, held } = await validated(long);
	expect(textOf(outcome)).toBe(long.toString());
	expect({ atOnce, held }).toEqual({ atOnce: false, held: long.length });
});

test("the signature of a long body is checked beside what others send", async () => {
	const secret = Buffer.from("hush");
	const keys: SigningKey[] = [{ algorithm: "HMAC", key: secret }];
	const text = createHmac("sha256", secret).update(long).digest("hex");
	const right = await validated(
		long,
		{ signature: presented("HMAC", text) },
		keys,
	);
	expect(textOf(right.outcome)).toBe(long.toString());
	expect(right.atOnce).toBe(false);
	const other = Buffer.concat([long, Buffer.from(" ")]);
	const wrong = await validated(
		other,
		{ signature: presented("HMAC", text) },
		keys,
	);
	expect(wrong.outcome).toMatchObject(refusals.SignatureInvalid);
	expect(wrong.atOnce).toBe(false);
});

test("what completes a signature in the body must be timely, and what is read for it is given back", async () => {
	const keys: SigningKey[] = [{ algorithm: "HMAC", key: Buffer.from("hush") }];
	const text = createHmac("sha256", "hush").update(long).digest("hex");
	const signedAgo = (seconds: number): SignatureInBody => ({
		*read(body) {
			yield* body.textAt("/0");
			return {
				...presented("HMAC", text),
				signedAt: Date.now() / 1000 - seconds,
			};
		},
	});
	const checked = (seconds: number) =>
		validated(
			long,
			{
				signature: signedAgo(seconds),
				route: { ...signedRoute, signingKeys: keys },
			},
			keys,
		);
	const { outcome, held } = await checked(0);
	expect(textOf(outcome)).toBe(long.toString());
	expect(held).toBe(long.length);
	expect((await checked(60)).outcome).toMatchObject(refusals.SignatureInvalid);

	// No room is no refusal of the signature.
	budget = new MemoryBudget(1_000, long.length + 1);
	limits = new RequestLimits(budget);
	expect((await checked(0)).outcome).toBe(refusals.Overloaded);
});

test("the key of a signed text is that of the set that holds, whatever stands beside it", async () => {
	const keys: SigningKey[] = [{ algorithm: "HMAC", key: Buffer.from("hush") }];
	const body = Buffer.from("{}");
	const signedAt = (time: string, text?: string) => ({
		texts: [
			{
				algorithm: "HMAC" as const,
				text:
					text ??
					createHmac("sha256", "hush").update(`${time}{}`).digest("hex"),
			},
		],
		signed: [Buffer.from(time), nothing],
	});
	const keyOf = async (...[first, other]: ReturnType<typeof signedAt>[]) => {
		const signature: PresentedSignature = {
			...first!,
			hash: "sha256",
			encoding: "hex",
			other,
		};
		const idempotency = {
			key: { signature: true as const },
			windowSeconds: 60,
		};
		const route = { ...signedRoute, signingKeys: keys, idempotency };
		const { outcome } = await validated(body, { signature, route }, keys);
		return (outcome as { key?: string }).key;
	};
	const wrong = "ab".repeat(32);
	const alone = await keyOf(signedAt("2"));
	expect(alone).toMatch(/^[0-9a-f]{32}$/);
	expect(await keyOf(signedAt("1", wrong), signedAt("2"))).toBe(alone);
	expect(await keyOf(signedAt("2"), signedAt("1", wrong))).toBe(alone);
	expect(await keyOf(signedAt("1"), signedAt("2"))).toBe(
		await keyOf(signedAt("1")),
	);
});

test("a JSON Web Token lets a body in, unless its keys can't be had", async () => {
	const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
	const token = await new SignJWT({})
		.setProtectedHeader({ alg: "ES256" })
		.setIssuer("https://issuer.example")
		.setAudience("tidemill")
		.setExpirationTime("1h")
		.sign(pair.privateKey);
	const authorization = {
		type: "JWT" as const,
		jwksURL: "https://issuer.example/keys",
		issuer: "https://issuer.example",
		audience: "tidemill",
		header: "authorization",
		clockSkewSeconds: 0,
	};
	const signature = tokenIn(authorization, {
		authorization: `Bearer ${token}`,
	});
	const route = { ...routeWith(key, key), authorization };
	const checked = (keys: KeyObject[] | string) =>
		validated(
			Buffer.from("{}"),
			{ signature: signature as PresentedToken, route },
			[],
			{ publicKeys: { keysAt: async () => keys } },
		);
	expect(textOf((await checked([pair.publicKey])).outcome)).toBe("{}");
	expect((await checked([])).outcome).toMatchObject(refusals.WebTokenInvalid);
	expect((await checked("no answer")).outcome).toMatchObject({
		...refusals.KeysUnavailable,
		cause: "no answer",
	});
});

test("a public-key signature is checked in another thread, and its copy of the body is given back", async () => {
	const keys: SigningKey[] = [{ algorithm: "Ed25519", key: publicKey }];
	const text = sign(undefined, long, privateKey).toString("hex");
	const signature = presented("Ed25519", text);
	const { outcome, atOnce, held } = await validated(long, { signature }, keys);
	expect(textOf(outcome)).toBe(long.toString());
	expect({ atOnce, held }).toEqual({ atOnce: false, held: long.length });
	const wrong = await validated(long.subarray(1), { signature }, keys);
	expect(wrong.outcome).toMatchObject(refusals.SignatureInvalid);
});

test("a compressed body and a form hold the bytes that are stored, no others", async () => {
	const compressed = await validated(gzipSync(long), { encoding: "gzip" });
	expect(textOf(compressed.outcome)).toBe(long.toString());
	expect(compressed.held).toBe(long.length);
	const form = await validated(Buffer.from("a=%01&b=1+2&a=x"), {
		kind: "form",
	});
	expect(textOf(form.outcome)).toBe('{"a":["\\u0001","x"],"b":"1 2"}');
	expect(form.held).toBe('{"a":["\\u0001","x"],"b":"1 2"}'.length);
});
