// In make test: test/data-plane/nats-users.laptop.test.ts
import { setImmediate } from "node:timers/promises";
import {
	type NatsConnection,
	PermissionViolationError,
} from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Words } from "../security/page.ts";
import { stolenNatsUsers } from "../security/stolen-nats-users.ts";
import {
	type NatsAccounts,
	startNatsAccounts,
} from "../support/fixtures/nats/accounts.ts";

/* Who has a password of NATS does on the real nats-server what docs/reference/rights.md says, and no more: by each of its words. */

let scene: NatsAccounts;

beforeAll(async () => {
	scene = await startNatsAccounts();
});

afterAll(() => scene.stop());

const users = Object.values(stolenNatsUsers).flatMap(
	({ user, can, cannot = [] }) => (user ? [[user, can, cannot] as const] : []),
);

/** What NATS has refused on this connection: `publish a.b`, `subscription c.>`. */
function refusalsOf(connection: NatsConnection): Set<string> {
	const refusals = new Set<string>();
	void (async () => {
		for await (const status of connection.status())
			if (
				status.type === "error" &&
				status.error instanceof PermissionViolationError
			)
				refusals.add(`${status.error.operation} ${status.error.subject}`);
	})();
	return refusals;
}

/** Tries each subject of the words. Returns the words, each with whether NATS has let all of its subjects pass, or none. */
async function tried(connection: NatsConnection, words: Words) {
	const refusals = refusalsOf(connection);
	const outcomes: [words: string, refused: boolean][] = [];
	for (const [said, ...proofs] of words)
		for (const proof of proofs) {
			if (typeof proof === "string" || "byTheirs" in proof) continue;
			if ("sends" in proof) connection.publish(proof.sends, "{}");
			else void connection.subscribe(proof.hears).closed;
			// The server answers in order: a refusal comes before the pong, and is in the set one turn later.
			await connection.flush();
			await setImmediate();
			const attempt =
				"sends" in proof
					? `publish ${proof.sends}`
					: `subscription ${proof.hears}`;
			outcomes.push([`${said}: ${attempt}`, refusals.has(attempt)]);
		}
	return outcomes;
}

test.each(users)(
	"NATS user %s does what is said, and is refused the rest",
	async (user, can, cannot) => {
		const done = await tried(scene.as[user], can);
		expect(done.length).toBeGreaterThan(2);
		expect(done.filter(([, refused]) => refused)).toEqual([]);
		const not = await tried(scene.as[user], cannot);
		expect(not.filter(([, refused]) => !refused)).toEqual([]);
	},
);
