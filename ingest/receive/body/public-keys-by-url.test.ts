import { generateKeyPairSync } from "node:crypto";
import { expect, onTestFinished, test, vi } from "vitest";
import { publicKeysSubject } from "../../../packages/contracts/nats.ts";
import type { KeyAnswer } from "../../../packages/contracts/notify-question.ts";
import { snsTopic } from "../../../test/support/senders/sns-topic.ts";
import type { NamedKey } from "../request/presented-signature.ts";
import { type AskNotify, NotifyQuestions } from "./notify-questions.ts";
import { PublicKeysByURL } from "./public-keys-by-url.ts";

const url = "https://keys.example/webhooks.json";
const minute = 60_000;

function jwks(...ids: string[]): KeyAnswer {
	const keys = ids.map((kid) => ({
		...generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }),
		kid,
	}));
	return { ok: true, text: JSON.stringify({ keys }) };
}

const inSpec = (id?: string): NamedKey => ({ url, isSenders: false, id });

function asking(answer: KeyAnswer | undefined) {
	let nowMs = 1e9;
	let current = answer;
	const ask = vi.fn<AskNotify>(async () => current);
	const keys = new PublicKeysByURL(new NotifyQuestions(ask), () => nowMs);
	const why = (place: NamedKey, account = "shop") =>
		keys.keysAt(account, "Ed25519", place);
	const count = async (place: NamedKey, account = "shop") => {
		const found = await why(place, account);
		return typeof found === "string" ? undefined : found.length;
	};
	return {
		ask,
		count,
		why,
		become: (next: KeyAnswer | undefined) => {
			current = next;
		},
		pass: (ms: number) => {
			nowMs += ms;
		},
	};
}

test("keys are asked for once, whoever waits, and again after ten minutes beside what needs them", async () => {
	const { ask, count, pass, become } = asking(jwks("a", "b"));
	expect(await Promise.all([count(inSpec()), count(inSpec("a"))])).toEqual([
		2, 1,
	]);
	pass(10 * minute - 1);
	expect(await count(inSpec())).toBe(2);
	expect(ask).toHaveBeenCalledExactlyOnceWith(publicKeysSubject, {
		account: "shop",
		url,
	});
	pass(1);
	become(jwks("c"));
	expect(await count(inSpec("a"))).toBe(1);
	await new Promise(setImmediate);
	expect(await count(inSpec("a"))).toBe(0);
	expect(await count(inSpec("c"))).toBe(1);
	expect(ask).toHaveBeenCalledTimes(2);
});

test("keys that can't be fetched anew serve for a day", async () => {
	const { count, pass, become } = asking(jwks("a"));
	await count(inSpec());
	become(undefined);
	pass(24 * 60 * minute - 1);
	expect(await count(inSpec())).toBe(1);
	await new Promise(setImmediate);
	pass(1);
	expect(await count(inSpec())).toBeUndefined();
});

test("a certificate serves while it is valid", async () => {
	vi.useFakeTimers({ toFake: ["Date"] });
	onTestFinished(() => {
		vi.useRealTimers();
	});
	const start = Date.parse("2026-03-01T00:00:00Z");
	vi.setSystemTime(start);
	const { certificate } = await snsTopic("orders", {
		notBefore: new Date(start - minute),
		notAfter: new Date(start + minute),
	});
	const ask = vi.fn<AskNotify>(async () => ({ ok: true, text: certificate }));
	const keys = new PublicKeysByURL(new NotifyQuestions(ask), () => 1e9);
	const found = async () =>
		(await keys.keysAt("shop", "RSA-SHA256", inSpec())).length;
	expect(await found()).toBe(1);
	vi.setSystemTime(start + minute);
	expect(await found()).toBe(0);
});

test("an unknown key id asks again, once in ten seconds", async () => {
	const { ask, count, pass, become } = asking(jwks("a"));
	const unknown = (n: number) => count(inSpec(`made-up-${n}`));
	// What has just been fetched has no such key.
	expect(await unknown(0)).toBe(0);
	expect(await unknown(1)).toBe(0);
	expect(ask).toHaveBeenCalledTimes(1);
	pass(10_000);
	become({ ok: false });
	expect(await unknown(2)).toBeUndefined();
	expect(await unknown(3)).toBeUndefined();
	expect(ask).toHaveBeenCalledTimes(2);
	expect(ask).toHaveBeenLastCalledWith(publicKeysSubject, {
		account: "shop",
		url,
		unknown: "KeyId",
	});
	// The known key serves meanwhile.
	expect(await count(inSpec("a"))).toBe(1);
	pass(10_000);
	become(jwks("a", "made-up-4"));
	expect(await unknown(4)).toBe(1);
	expect(ask).toHaveBeenCalledTimes(3);
});

test("a URL that a sender names says so, until a key was found there", async () => {
	const { ask, count, pass } = asking(jwks("a"));
	const place = { url, isSenders: true, id: undefined };
	expect(await count(place)).toBe(1);
	pass(10 * minute);
	expect(await count(place)).toBe(1);
	await new Promise(setImmediate);
	expect(ask.mock.calls.map(([, question]) => question)).toEqual([
		{ account: "shop", url, unknown: "URL" },
		{ account: "shop", url },
	]);
});

test("what has no key of the algorithm is asked about again after ten seconds", async () => {
	const { ask, count, pass } = asking({ ok: true, text: "<html>" });
	for (let n = 0; n < 3; n++) expect(await count(inSpec())).toBeUndefined();
	expect(ask).toHaveBeenCalledTimes(1);
	pass(10_000);
	await count(inSpec());
	expect(ask).toHaveBeenCalledTimes(2);
});

test.each<[string, KeyAnswer | undefined]>([
	["Notify doesn't answer.", undefined],
	[
		"The answer has status 404.",
		{ ok: false, reason: "The answer has status 404." },
	],
	[
		"What is at the key's URL holds no public key of Ed25519, as PEM, a valid certificate, the Base64 of DER or a JWK.",
		{ ok: true, text: "<html>" },
	],
])("people learn why there is no key: %s", async (reason, answer) => {
	const { why } = asking(answer);
	expect(await why(inSpec())).toBe(reason);
	expect(await why(inSpec())).toBe(reason);
});

test("an account's keys, and what it lacks, are its own", async () => {
	const { ask, count, become } = asking({ ok: false });
	expect(await count(inSpec())).toBeUndefined();
	become(jwks("a"));
	expect(await count(inSpec(), "bank")).toBe(1);
	expect(await count(inSpec())).toBeUndefined();
	expect(ask).toHaveBeenCalledTimes(2);
	// More URLs than an account may keep push out none of another's.
	for (let n = 0; n < 50; n++)
		await count({ ...inSpec(), url: `${url}?${n}` }, "mallory");
	const before = ask.mock.calls.length;
	expect(await count(inSpec(), "bank")).toBe(1);
	expect(ask).toHaveBeenCalledTimes(before);
});

test("a key id finds its key among however many, and of keys without one ten are tried", async () => {
	const ids = Array.from({ length: 30 }, (_, n) => `key-${n}`);
	const { count } = asking(jwks(...ids));
	for (const id of ["key-0", "key-10", "key-29"])
		expect(await count(inSpec(id))).toBe(1);
	expect(await count(inSpec())).toBe(10);
});
