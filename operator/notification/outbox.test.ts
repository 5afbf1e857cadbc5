import type { NatsConnection, RequestOptions } from "@nats-io/transport-node";
import pino from "pino";
import { afterEach, expect, test, vi } from "vitest";
import type { Pipeline } from "../../crds/generated/types.ts";
import { NotificationOutbox } from "./outbox.ts";

afterEach(() => vi.useRealTimers());

const log = pino({ level: "silent" });
const pipeline = {
	kind: "Pipeline",
	metadata: { namespace: "shop", name: "orders" },
} as Pipeline;
const due = [{ id: "run-1.failed" }] as never[];

test("while NATS is away it is asked every ten seconds, however often others ask meanwhile", async () => {
	vi.useFakeTimers({ now: 0 });
	let asked = 0;
	const nats = {
		options: {},
		request: async () => {
			asked++;
			throw new Error("timeout");
		},
	} as unknown as NatsConnection;
	const outbox = new NotificationOutbox(nats, { replicas: 1, log });
	const tries: boolean[] = [];
	for (const seconds of [0, 7, 9, 11, 18]) {
		vi.setSystemTime(seconds * 1_000);
		const before = asked;
		const webhooks = [{ secret: "ops", sealed: "…" }];
		expect(await outbox.handOver(pipeline, due, webhooks)).toEqual({
			ids: ["run-1.failed"],
			left: due,
		});
		tries.push(asked > before);
	}
	expect(tries).toEqual([true, false, false, true, false]);
});

test("a notification that is handed over again has the id by which NATS drops it", async () => {
	const ids: (string | undefined)[] = [];
	const nats = {
		options: {},
		request: async (_: string, __: unknown, options: RequestOptions) => {
			ids.push(options.headers?.get("Nats-Msg-Id"));
			return { data: Buffer.from('{"stream":"notifications","seq":1}') };
		},
	} as unknown as NatsConnection;
	const outbox = new NotificationOutbox(nats, { replicas: 1, log });
	for (const secret of ["ops", "ops", "chat"])
		await outbox.handOver(pipeline, due, [{ secret, sealed: "…" }]);
	const [first, other] = ["run-1.failed.ops", "run-1.failed.chat"];
	expect(ids).toEqual([first, first, other]);
});
