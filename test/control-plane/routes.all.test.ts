// In make test: operator/source/routes/route.test.ts
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { RouteBuckets } from "../../operator/source/routes/route-buckets.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import {
	type Route,
	routeKey,
	type SourceShards,
	type SyncedMark,
	shardsKey,
	syncedKey,
} from "../../packages/contracts/route.ts";
import { planKey } from "../../packages/contracts/tracking-plan.ts";
import { createLog } from "../../packages/service/log.ts";
import { connectNats } from "../../packages/service/nats/connection.ts";
import { Settings } from "../../packages/service/settings.ts";
import { routeWith } from "../support/examples/route-example.ts";
import { startNats } from "../support/servers/servers.ts";

const log = createLog("test");
const route = routeWith("url", "0".repeat(32));

/** Operators that lead one after the other. */
async function startLeaders(stack: AsyncDisposableStack) {
	const nats = await startNats();
	stack.defer(() => nats.stop());
	const settings = new Settings({ NATS_URL: nats.url });
	return async () => {
		const connection = await connectNats(settings, "operator", log);
		stack.defer(() => connection.close());
		const routes = new RouteBuckets(connection, { replicas: 1, log });
		const stopping = new AbortController();
		const stopped = routes.run(stopping.signal);
		stack.defer(async () => {
			stopping.abort();
			await stopped;
		});
		return { connection, routes };
	};
}

test("while a cluster is restored routes are put and none is removed, until a person's word", async () => {
	await using stack = new AsyncDisposableStack();
	const { connection, routes } = await (await startLeaders(stack))();
	const others = routeWith("other", "1".repeat(32), { account: "other" });
	const publish = (desired: Route[], mark: SyncedMark) => {
		routes.forget();
		return routes.publish(
			() => desired,
			() => undefined,
			() => [],
			async () => mark,
		);
	};
	const kv = await (async () => {
		await publish([route], { cluster: "1" });
		return new Kvm(connection).open(bucket.routes);
	})();
	const published = async () => ({
		mark: (await kv.get(syncedKey))?.json(),
		keys: (await Array.fromAsync(await kv.keys("source.>"))).toSorted(),
	});
	const restoring = { cluster: "1", isRestoring: true } as const;
	await publish([others], restoring);
	expect(await published()).toEqual({
		mark: restoring,
		keys: [route, others].map(({ sourceKey }) => routeKey(sourceKey)),
	});
	await publish([others], { cluster: "2" });
	expect(await published()).toEqual({
		mark: { cluster: "2" },
		keys: [routeKey(others.sourceKey)],
	});
});

test("before a route names another shard, the Source's shards in NATS name both", async () => {
	await using stack = new AsyncDisposableStack();
	const { connection, routes } = await (await startLeaders(stack))();
	const kvm = new Kvm(connection);
	await routes.publish(() => [route]);
	const sets = await kvm.open(bucket.sourceKeys);
	expect(await sets.get(shardsKey(route.sourceKey))).toBeNull();
	let shards: number[] | undefined;
	beforeWrites(connection, bucket.routes, async () => {
		const set = await sets.get(shardsKey(route.sourceKey));
		shards = set?.json<SourceShards>().shards;
	});
	await routes.publish(() => [{ ...route, shard: 1 }]);
	expect(shards).toEqual([0, 1]);
	expect(routes.shardsOf(route.sourceKey)).toEqual([0, 1]);
});

test("what changes of a route waits neither for new routes nor for the documents of their plans", async () => {
	await using stack = new AsyncDisposableStack();
	const { connection, routes } = await (await startLeaders(stack))();
	await routes.publish(() => [route]);
	const plan = { name: "orders", version: "0".repeat(16) };
	const others = routeWith("other", "1".repeat(32), { account: "other", plan });
	const changed = { ...route, maxBodyBytes: 1 };
	await routes.publish(
		() => [others, changed],
		() => "{}",
	);
	const kv = await new Kvm(connection).open(bucket.routes);
	const keys = [
		routeKey(route.sourceKey),
		planKey("other", plan),
		routeKey(others.sourceKey),
	];
	const entries = await Promise.all(keys.map((key) => kv.get(key)));
	expect(entries.map((entry) => entry?.revision)).toEqual([3, 4, 5]);
});

test("the Source's shards come back with a bucket that was lost, and another account's stay as they are", async () => {
	await using stack = new AsyncDisposableStack();
	const { connection, routes } = await (await startLeaders(stack))();
	const kvm = new Kvm(connection);
	const others = routeWith("other", "1".repeat(32), { account: "other" });
	const copied = { ...others, account: route.account, source: "copy" };
	await routes.publish(() => [route, others]);
	await (await kvm.open(bucket.sourceKeys)).destroy();
	routes.forget();
	await routes.publish(() => [route, others]);
	routes.forget();
	await routes.publish(
		() => [route, others, copied],
		() => undefined,
		({ account }) => (account === route.account ? [0, 1] : []),
	);
	const sets = await kvm.open(bucket.sourceKeys);
	const set = await sets.get(shardsKey(route.sourceKey));
	expect(set?.json<SourceShards>().shards).toEqual([0, 1]);
	expect(await sets.get(shardsKey(others.sourceKey))).toBeNull();
});

test("a former leader that knows fewer shards takes none away", async () => {
	await using stack = new AsyncDisposableStack();
	const leader = await startLeaders(stack);
	const former = await leader();
	const moveTo = ({ routes }: typeof former, shard: number) =>
		routes.publish(() => [{ ...route, shard }]);
	await moveTo(former, 0);
	await moveTo(former, 1);
	const successor = await leader();
	const delivery = Promise.withResolvers<void>();
	// The process is frozen between the decision and the network.
	beforeWrites(former.connection, bucket.sourceKeys, () => delivery.promise);
	const late = moveTo(former, 3);
	await moveTo(successor, 2);
	delivery.resolve();
	await expect(late).rejects.toThrow("wrong last sequence");
	await moveTo(former, 3);
	const sets = await new Kvm(former.connection).open(bucket.sourceKeys);
	const set = await sets.get(shardsKey(route.sourceKey));
	expect(set?.json<SourceShards>().shards).toEqual([0, 1, 2, 3]);
});

test("a route that a former leader sent before it froze doesn't replace its successor's", async () => {
	await using stack = new AsyncDisposableStack();
	const leader = await startLeaders(stack);
	const former = await leader();
	await former.routes.publish(() => [route]);
	const delivery = Promise.withResolvers<void>();
	beforeWrites(former.connection, bucket.routes, () => delivery.promise);
	const late = former.routes.publish(() => [{ ...route, maxBodyBytes: 1 }]);

	const successor = await leader();
	const wanted = { ...route, maxBodyBytes: 2 };
	await successor.routes.publish(() => [wanted]);
	delivery.resolve();
	await expect(late).rejects.toThrow("wrong last sequence");
	const kv = await new Kvm(successor.connection).open(bucket.routes);
	expect((await kv.get(routeKey(route.sourceKey)))?.json()).toEqual(wanted);
});

test("an operator that starts tells of each route that it finds, since its Source may have been read before", async () => {
	await using stack = new AsyncDisposableStack();
	const leader = await startLeaders(stack);
	await (await leader()).routes.publish(() => [route]);
	const { routes } = await leader();
	const told: Route[] = [];
	routes.onChange((each) => void told.push(each));
	expect(routes.published(route.sourceKey)).toBeUndefined();
	await routes.publish(() => [route]);
	expect(told).toEqual([route]);
	await routes.publish(() => [route]);
	expect(told).toHaveLength(1);
});

/** Each write to the bucket is sent once this has ended. */
function beforeWrites(
	connection: NatsConnection,
	bucket: string,
	first: () => Promise<void>,
): void {
	const request = connection.request.bind(connection);
	connection.request = async (subject, ...rest) => {
		if (subject.startsWith(`$KV.${bucket}.`)) await first();
		return request(subject, ...rest);
	};
}
