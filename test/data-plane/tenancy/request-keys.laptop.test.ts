import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { performOnce } from "../../../api/http/idempotency-key.ts";
import { NatsIdempotencyStore } from "../../../api/http/idempotency-store.ts";
import { bucket } from "../../../packages/contracts/nats.ts";
import { KubeApiError } from "../../../packages/kube/client/client.ts";
import { startNats, type TestNats } from "../../support/servers/servers.ts";

let nats: TestNats;
let connection: NatsConnection;

beforeAll(async () => {
	nats = await startNats();
	const url = new URL(nats.urlFor("api"));
	connection = await connect({
		servers: url.host,
		user: url.username,
		pass: url.password,
		inboxPrefix: "_INBOX_api",
	});
});

afterAll(async () => {
	await connection.close();
	await nats.stop();
});

function newStore(): NatsIdempotencyStore {
	return new NatsIdempotencyStore({
		connection: () => connection,
		replicas: 1,
		maxRecords: 20,
		now: () => clockMs,
	});
}

/** A count is up to a second old. Each request comes an hour later, so that both replicas count before it, however slow the machine is. */
let clockMs = 0;
const hourMs = 3_600_000;

async function kept(): Promise<number> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	return (await streams.info(`KV_${bucket.requests}`)).state.messages;
}

const forbidden = new KubeApiError(403, { reason: "Forbidden" });

function post(
	store: NatsIdempotencyStore,
	account: string,
	key: string,
	perform = async () => ({ name: key }),
) {
	clockMs += hourMs;
	const request = { account, subject: "ada", path: "/v1/x", body: {}, key };
	return performOnce(store, request, perform);
}

test("refused requests leave no Idempotency-Keys behind", async () => {
	const store = newStore();
	for (let n = 0; n < 50; n++)
		await expect(
			post(store, "shop", `refused ${n}`, () => Promise.reject(forbidden)),
		).rejects.toBe(forbidden);
	expect(await kept()).toBe(0);
});

test("a refusal doesn't drop the key of a twin that succeeded meanwhile", async () => {
	const [one, two] = [newStore(), newStore()];
	const refused = post(one, "shop", "twin", async () => {
		await post(two, "shop", "twin");
		throw forbidden;
	});
	await expect(refused).rejects.toBe(forbidden);
	expect(await kept()).toBe(1);
});

test("an account that uses as many Idempotency-Keys as it can doesn't take another account's", async () => {
	const [one, two] = [newStore(), newStore()];
	let refusals = 0;
	for (let n = 0; n < 40; n++)
		await post(n % 2 ? one : two, "mallory", `k${n}`).catch((error) => {
			expect(error).toMatchObject({ code: "RateLimited" });
			refusals++;
		});
	expect(refusals).toBeGreaterThan(15);
	for (const key of ["a", "b"])
		expect(await post(one, "bank", key)).toEqual({ name: key });
	expect(await post(two, "mallory", "k0")).toEqual({ name: "k0" });
});
