import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { afterEach, describe, expect, test, vi } from "vitest";
import { publicKeysSubject, sns } from "../../packages/contracts/nats.ts";
import { createLog } from "../../packages/service/log.ts";
import type { GetOutcome } from "./checked-request.ts";
import { QuestionResponder } from "./question-responder.ts";

const url =
	"https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-a1.pem";
const confirmation =
	"https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn&Token=t";

function responder(outcome: () => Promise<GetOutcome>) {
	const callbacks = new Map<string, (error: null, message: Msg) => void>();
	const nats = {
		subscribe: (
			subject: string,
			options: { callback: (error: null, message: Msg) => void },
		) => {
			callbacks.set(subject, options.callback);
			return { unsubscribe: () => undefined };
		},
	} as unknown as NatsConnection;
	const get = vi.fn(outcome);
	const started = new QuestionResponder({
		nats,
		get,
		log: createLog("test"),
	}).start();
	const ask = (subject: string, question: unknown) =>
		new Promise<unknown>((resolve) =>
			callbacks.get(subject)!(null, {
				subject,
				json: () => question,
				respond: (text: string) => resolve(JSON.parse(text)),
			} as unknown as Msg),
		);
	return { ask, get, stop: started.stop };
}

const found = async () => ({ text: "PEM" });

test("a certificate is handed on, and of a confirmation only that it was one", async () => {
	const { ask, get } = responder(found);
	expect(await ask(sns.certificate, { account: "shop", url })).toEqual({
		ok: true,
		text: "PEM",
	});
	const question = { account: "shop", url: confirmation };
	expect(await ask(sns.confirmation, question)).toEqual({ ok: true, text: "" });
	expect(get.mock.calls).toEqual([
		[url, 32_768],
		[confirmation, 32_768],
	]);
});

test.each<[string, unknown]>([
	["a confirmation for a certificate", { account: "shop", url: confirmation }],
	["another host", { account: "shop", url: "https://169.254.169.254/" }],
	["no account", { url }],
	["no URL", { account: "shop" }],
	["nothing", null],
])("%s is refused, and nothing is called", async (_, question) => {
	const { ask, get } = responder(found);
	expect(await ask(sns.certificate, question)).toMatchObject({ ok: false });
	expect(get).not.toHaveBeenCalled();
});

test("what Amazon refuses is no certificate, and its words aren't handed on", async () => {
	const { ask } = responder(async () => ({ error: "status 403" }));
	const question = { account: "shop", url };
	expect(await ask(sns.certificate, question)).toMatchObject({ ok: false });
});

test("an account that asks for ever new URLs gets few calls, and another account its own", async () => {
	const { ask, get } = responder(found);
	for (let i = 0; i < 100; i++)
		await ask(sns.certificate, {
			account: "mallory",
			url: url.replace("a1", `a${i}`),
		});
	expect(get.mock.calls.length).toBeLessThan(25);
	expect(await ask(sns.certificate, { account: "shop", url })).toHaveProperty(
		"ok",
		true,
	);
});

test("made-up certificates don't keep an account from one that exists", async () => {
	const { ask, get } = responder(found);
	const question = { account: "shop", url };
	expect(await ask(sns.certificate, question)).toHaveProperty("ok", true);
	get.mockResolvedValue({ error: "status 404" });
	for (let i = 0; i < 100; i++)
		await ask(sns.certificate, {
			...question,
			url: url.replace("a1", `a1${i}`),
		});
	get.mockResolvedValue({ text: "PEM" });
	expect(await ask(sns.certificate, question)).toHaveProperty("ok", true);
	const before = get.mock.calls.length;
	for (let i = 0; i < 100; i++) await ask(sns.certificate, question);
	expect(get.mock.calls.length - before).toBeLessThan(25);
});

describe("public keys", () => {
	afterEach(() => {
		vi.useRealTimers();
	});

	const place = "https://keys.example/webhooks.json";
	const question = { account: "shop", url: place };
	const asks = (
		{ ask }: ReturnType<typeof responder>,
		change: object = {},
	): Promise<unknown> => ask(publicKeysSubject, { ...question, ...change });

	test("are handed on as they are", async () => {
		const notify = responder(found);
		expect(await asks(notify)).toEqual({ ok: true, text: "PEM" });
		expect(notify.get).toHaveBeenCalledExactlyOnceWith(place, 32_768);
	});

	test.each([
		"http://keys.example/",
		"https://user:password@keys.example/",
		"https://keys.example\\@other.example/",
		"https://[::1]/",
		"ftp://keys.example/",
		`https://keys.example/${"a".repeat(500)}`,
		"",
	])("aren't fetched from %s", async (url) => {
		const notify = responder(found);
		expect(await asks(notify, { url })).toMatchObject({ ok: false });
		expect(notify.get).not.toHaveBeenCalled();
	});

	test("are fetched once in ten seconds, for whichever receive asks", async () => {
		vi.useFakeTimers({ toFake: ["performance"] });
		const notify = responder(found);
		const both = await Promise.all([asks(notify), asks(notify)]);
		expect(both).toEqual([
			{ ok: true, text: "PEM" },
			{ ok: true, text: "PEM" },
		]);
		vi.advanceTimersByTime(9_999);
		await asks(notify, { unknown: "KeyId" });
		expect(notify.get).toHaveBeenCalledTimes(1);
		vi.advanceTimersByTime(1);
		await asks(notify);
		expect(notify.get).toHaveBeenCalledTimes(2);
	});

	test.each(["KeyId", "URL"])(
		"that senders name by an unknown %s cost an account one fetch in ten seconds",
		async (unknown) => {
			vi.useFakeTimers({ toFake: ["performance"] });
			const notify = responder(found);
			const many = async (account: string) => {
				const answers = [];
				for (let n = 0; n < 50; n++)
					answers.push(
						await asks(notify, { account, unknown, url: `${place}?${n}` }),
					);
				return answers.filter((answer) => (answer as { ok: boolean }).ok)
					.length;
			};
			expect(await many("mallory")).toBe(1);
			expect(await many("shop")).toBe(1);
			expect(notify.get).toHaveBeenCalledTimes(2);
			// A URL in the spec doesn't wait for that.
			expect(await asks(notify, { account: "mallory" })).toHaveProperty(
				"ok",
				true,
			);
			vi.advanceTimersByTime(10_000);
			expect(
				await asks(notify, { account: "mallory", unknown, url: `${place}?x` }),
			).toHaveProperty("ok", true);
		},
	);

	test("that one receive has just got are no unknown ones of another", async () => {
		vi.useFakeTimers({ toFake: ["performance"] });
		const notify = responder(found);
		await asks(notify);
		await asks(notify, { unknown: "URL", url: `${place}?made-up` });
		for (const unknown of ["URL", "KeyId"])
			expect(await asks(notify, { unknown })).toHaveProperty("ok", true);
		expect(notify.get).toHaveBeenCalledTimes(2);
	});

	test("made-up URLs don't keep an account from one that exists", async () => {
		vi.useFakeTimers({ toFake: ["performance"] });
		const notify = responder(found);
		expect(await asks(notify, { unknown: "URL" })).toHaveProperty("ok", true);
		vi.advanceTimersByTime(10_000);
		notify.get.mockResolvedValueOnce({ error: "status 404" });
		await asks(notify, { unknown: "URL", url: `${place}?made-up` });
		expect(await asks(notify, { unknown: "URL" })).toHaveProperty("ok", true);
	});
});
