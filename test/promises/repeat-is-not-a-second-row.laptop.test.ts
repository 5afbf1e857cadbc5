import { setTimeout as delay } from "node:timers/promises";
import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { endClaimsOfDead } from "../support/faults/claim-deadlines.ts";
import { sendJSON } from "../support/senders/http-client.ts";
import {
	applyQuickstart,
	type Quickstart,
} from "../support/senders/quickstart.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";

const victims = ["receive", "nats", "archive", "receive"];
const deliveries = 400;

let local: LocalMode;
let quickstart: Quickstart;
let nats: NatsConnection;
/** The ids that senders had as answers, by delivery. */
const told = new Map<string, Set<string>>();
/** Deliveries from before receive knew of the key: their repeats are rows. */
const probes = new Set<string>();

interface Row {
	event_id: string;
	delivery: string;
}

beforeAll(async () => {
	local = await openLocalMode("repeats");
	nats = await local.connectNats();
	quickstart = await applyQuickstart(local);
	const idempotency = { key: { preset: "GitHub" } };
	const patch = JSON.stringify({ spec: { webhook: { idempotency } } });
	const args = ["source", "shop", "--type=merge", `--patch=${patch}`];
	await local.run("kubectl", "patch", ...args);
	let tries = 0;
	// Until receive knows of it, the same delivery is two events.
	await vi.waitFor(
		async () => {
			const delivery = `probe-${tries++}`;
			await deliver(delivery);
			const [first, second] = [told.get(delivery)!, await deliver(delivery)];
			const isRepeat = first.size === 1 && first.has(second);
			if (!isRepeat) {
				told.delete(delivery);
				probes.add(delivery);
			}
			expect(isRepeat).toBe(true);
		},
		{ timeout: 120_000, interval: 100 },
	);
});

afterAll(() => nats?.close());

/** As a provider delivers: again until it has an answer. Returns the event's id. */
async function deliver(delivery: string): Promise<string> {
	for (;;) {
		const answer = await sendJSON(
			quickstart.webhookURL,
			JSON.stringify({ delivery, try: Math.random() }),
			{ headers: { "x-github-delivery": delivery } },
		).catch(() => undefined);
		if (answer?.status === 200) {
			const ids = told.get(delivery) ?? new Set();
			told.set(delivery, ids.add(answer.json.event_id));
			return answer.json.event_id;
		}
		await delay(500);
	}
}

test("each delivery is one row, however often it is sent, though each part is killed meanwhile", async () => {
	let next = 0;
	const senders = Array.from({ length: 8 }, async () => {
		while (next < deliveries) {
			const delivery = `delivery-${next++}`;
			await deliver(delivery);
			await deliver(delivery);
		}
	});
	for (const [index, victim] of victims.entries()) {
		const target = ((index + 1) * deliveries) / (victims.length + 1);
		// A receiver's death may leave every sender with a claim that is waited for.
		await vi.waitFor(() => expect(next).toBeGreaterThan(target), {
			timeout: 120_000,
			interval: 1,
		});
		const diedAtMs = await local.killAndAwait(victim);
		if (victim === "receive") await endClaimsOfDead(nats, diedAtMs);
	}
	await Promise.all(senders);

	await quickstart.runPipeline();
	const rows = await quickstart.query<Row>(
		"select event_id, body::json->>'delivery' as delivery from $table",
	);
	expect(faultsOf(rows)).toEqual([]);
});

/** Deliveries that are not exactly one row, or whose sender was told another id than the row's. */
function faultsOf(rows: Row[]): string[] {
	const byDelivery = Map.groupBy(rows, ({ delivery }) => delivery);
	for (const probe of probes) byDelivery.delete(probe);
	return [...new Set([...told.keys(), ...byDelivery.keys()])]
		.map((delivery) => {
			const ids = (byDelivery.get(delivery) ?? []).map((row) => row.event_id);
			return { delivery, ids, answers: [...(told.get(delivery) ?? [])] };
		})
		.filter(
			({ ids, answers }) =>
				ids.length !== 1 || answers.length !== 1 || ids[0] !== answers[0],
		)
		.map((each) => JSON.stringify(each));
}
