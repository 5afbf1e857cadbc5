import { beforeAll, expect, test, vi } from "vitest";
import { sns } from "../../../packages/contracts/nats.ts";
import type { KeyAnswer } from "../../../packages/contracts/notify-question.ts";
import { snsTopic } from "../../../test/support/senders/sns-topic.ts";
import { AmazonSns } from "./amazon-sns.ts";
import { type AskNotify, NotifyQuestions } from "./notify-questions.ts";

const day = 24 * 3_600_000;
const start = Date.parse("2026-03-01T00:00:00Z");
let valid: string;
let expired: string;
let early: string;

beforeAll(async () => {
	const pem = async (from: number, to: number) =>
		(
			await snsTopic("orders", {
				notBefore: new Date(from),
				notAfter: new Date(to),
			})
		).certificate;
	[valid, expired, early] = await Promise.all([
		pem(start - day, start + 10 * day),
		pem(start - day, start),
		pem(start + day, start + 10 * day),
	]);
});

function asking(answer: () => KeyAnswer | undefined) {
	let nowMs = start;
	const ask = vi.fn<AskNotify>(async () => answer());
	return {
		amazon: new AmazonSns(new NotifyQuestions(ask), () => nowMs),
		ask,
		pass: (ms: number) => {
			nowMs += ms;
		},
	};
}

test("a certificate is asked for once, and again after a day", async () => {
	const { amazon, ask, pass } = asking(() => ({ ok: true, text: valid }));
	const both = await Promise.all([
		amazon.keyOf("shop", "u"),
		amazon.keyOf("shop", "u"),
	]);
	expect(both[0]?.asymmetricKeyType).toBe("rsa");
	// What Amazon publishes is the same for every account.
	expect(await amazon.keyOf("bank", "u")).toBe(both[0]);
	expect(ask).toHaveBeenCalledExactlyOnceWith(sns.certificate, {
		account: "shop",
		url: "u",
	});
	pass(day);
	await amazon.keyOf("shop", "u");
	expect(ask).toHaveBeenCalledTimes(2);
});

test("a certificate that can't be fetched anew serves for as long as it is valid", async () => {
	let answer: KeyAnswer | undefined = { ok: true, text: valid };
	const { amazon, ask, pass } = asking(() => answer);
	const key = await amazon.keyOf("shop", "u");
	answer = undefined;
	pass(9 * day);
	// Nobody waits for the answer.
	for (let i = 0; i < 3; i++) {
		expect(await amazon.keyOf("shop", "u")).toBe(key);
		await new Promise(setImmediate);
	}
	expect(ask).toHaveBeenCalledTimes(2);
	pass(5_000);
	expect(await amazon.keyOf("shop", "u")).toBe(key);
	expect(ask).toHaveBeenCalledTimes(3);
	pass(day);
	expect(await amazon.keyOf("shop", "u")).toBeUndefined();
});

test.each<[string, () => KeyAnswer | undefined]>([
	["no answer", () => undefined],
	["a refusal", () => ({ ok: false })],
	["no certificate", () => ({ ok: true, text: "<html>" })],
	["one that is over", () => ({ ok: true, text: expired })],
	["one that is to come", () => ({ ok: true, text: early })],
])("%s gives no key, and isn't asked for again at once", async (_, answer) => {
	const { amazon, ask, pass } = asking(answer);
	for (let i = 0; i < 3; i++)
		expect(await amazon.keyOf("shop", "u")).toBeUndefined();
	expect(ask).toHaveBeenCalledTimes(1);
	pass(5_000);
	await amazon.keyOf("shop", "u");
	expect(ask).toHaveBeenCalledTimes(2);
});

test("what is refused to one account, another asks for itself", async () => {
	const { amazon, ask } = asking(() => undefined);
	ask.mockImplementation(async (_, { account }) =>
		account === "shop" ? { ok: true, text: valid } : { ok: false },
	);
	const [mallory, shop] = await Promise.all([
		amazon.keyOf("mallory", "u"),
		amazon.keyOf("shop", "u"),
	]);
	expect(mallory).toBeUndefined();
	expect(shop).toBeDefined();
});

test("an account has few questions on their way, and another account its own", async () => {
	const { promise, resolve } = Promise.withResolvers<KeyAnswer>();
	const { amazon, ask } = asking(() => undefined);
	ask.mockImplementation(async (_, { account }) =>
		account === "shop" ? { ok: true, text: "" } : promise,
	);
	const flood = Array.from({ length: 50 }, (_, i) =>
		amazon.confirm("mallory", `u${i}`),
	);
	expect(ask).toHaveBeenCalledTimes(4);
	expect(await amazon.confirm("shop", "u")).toBe(true);
	resolve({ ok: true, text: "" });
	const confirmed = await Promise.all(flood);
	expect(confirmed.filter(Boolean)).toHaveLength(4);
	expect(await amazon.confirm("mallory", "u")).toBe(true);
});
