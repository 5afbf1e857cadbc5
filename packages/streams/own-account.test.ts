import { errors, type NatsConnection } from "@nats-io/transport-node";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { warnOfSharedAccount } from "./own-account.ts";

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
