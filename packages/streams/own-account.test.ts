import { errors, type NatsConnection } from "@nats-io/transport-node";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { isInOwnAccount, warnOfSharedAccount } from "./own-account.ts";

const log = pino({ level: "silent" });

/** A NATS that answers the probe like this, at one look after another. */
function natsWith(answers: ("shared" | "own" | "silent")[]) {
	const { promise: reconnected, resolve: reconnect } =
		Promise.withResolvers<void>();
	const nats = {
		request: async (subject: string) => {
			const answer = answers.shift();
			if (answer === "own") throw new errors.NoRespondersError(subject);
			if (answer === "silent") throw new errors.TimeoutError();
		},
		async *status() {
			await reconnected;
			yield { type: "reconnect" };
		},
	} as unknown as NatsConnection;
	return { nats, reconnect };
}

test("a metric says that NATS lacks the role's account, until it has one", async () => {
	const { nats, reconnect } = natsWith(["shared", "own"]);
	const registry = new Registry();
	const { promise: given, resolve } = Promise.withResolvers<void>();
	const looks: boolean[] = [];
	await warnOfSharedAccount(nats, {
		...{ role: "operator", registry, log },
		onLook: (isOwn) => {
			looks.push(isOwn);
			if (isOwn) resolve();
		},
	});
	expect(await registry.metrics()).toContain('{role="operator"} 1');
	reconnect();
	await given;
	expect(await registry.metrics()).toContain('{role="operator"} 0');
	expect(looks).toEqual([false, true]);
});

const unheard = new errors.NoRespondersError("probe");
const refused = new errors.PermissionViolationError("no", "publish", "probe");

test.each([
	["nobody hears it", unheard],
	["nobody hears it, wrapped", wrapped(unheard)],
	["nobody hears it, wrapped twice", wrapped(wrapped(unheard))],
	["NATS refuses it", refused],
	["NATS refuses it, wrapped", wrapped(refused)],
])(
	"a user whose question ends so is in an account of its own: %s",
	async (_, error) => {
		const nats = { request: () => Promise.reject(error) };
		expect(await isInOwnAccount(nats as unknown as NatsConnection)).toBe(true);
	},
);

function wrapped(cause: Error): Error {
	return new errors.RequestError(cause.message, { cause });
}

test("while NATS doesn't answer, nothing is said of the account", async () => {
	const { nats } = natsWith(["silent"]);
	const registry = new Registry();
	const looks: boolean[] = [];
	await warnOfSharedAccount(nats, {
		...{ role: "operator", registry, log },
		onLook: (isOwn) => looks.push(isOwn),
	});
	expect(looks).toEqual([]);
	expect(await registry.metrics()).not.toContain("role=");
});
