import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { bucket } from "../../contracts/nats.ts";
import { routeKey } from "../../contracts/route.ts";
import { RouteTable } from "../../operator/source/routes/table.ts";
import { createLog } from "../../service/log.ts";
import { connectNats } from "../../service/nats/connection.ts";
import { Settings } from "../../service/settings.ts";
import { routeWith } from "../support/examples/route-example.ts";
import { startNats } from "../support/servers/servers.ts";

const log = createLog("test");
const route = routeWith("url", "0".repeat(32));

test("a route that a former leader sent before it froze doesn't replace its successor's", async () => {
	await using stack = new AsyncDisposableStack();
	const nats = await startNats();
	stack.defer(() => nats.stop());
	const settings = new Settings({ NATS_URL: nats.url });
	const leader = async () => {
		const connection = await connectNats(settings, "operator", log);
		stack.defer(() => connection.close());
		const routes = new RouteTable(connection, { replicas: 1, log });
		const stopping = new AbortController();
		const stopped = routes.run(stopping.signal);
		stack.defer(async () => {
			stopping.abort();
			await stopped;
		});
		return { connection, routes };
	};
	const former = await leader();
	await former.routes.publish(() => [route]);
	const delivery = Promise.withResolvers<void>();
	holdWrites(former.connection, delivery.promise);
	const late = former.routes.publish(() => [{ ...route, maxBodyBytes: 1 }]);

	const successor = await leader();
	const wanted = { ...route, maxBodyBytes: 2 };
	await successor.routes.publish(() => [wanted]);
	delivery.resolve();
	await expect(late).rejects.toThrow("wrong last sequence");
	const kv = await new Kvm(successor.connection).open(bucket.routes);
	expect((await kv.get(routeKey(route.sourceKey)))?.json()).toEqual(wanted);
});

/** The process is frozen between the decision and the network. */
function holdWrites(connection: NatsConnection, until: Promise<void>): void {
	const request = connection.request.bind(connection);
	connection.request = async (subject, ...rest) => {
		if (subject.startsWith(`$KV.${bucket.routes}.`)) await until;
		return request(subject, ...rest);
	};
}
