// In make test: packages/kube/watch/informer.test.ts
import {
	afterAll,
	beforeAll,
	beforeEach,
	describe,
	expect,
	inject,
	test,
	vi,
} from "vitest";
import { KubeApiError, KubeClient } from "../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import { type ConfigMap, kinds } from "../../packages/kube/kinds.ts";
import { Informer } from "../../packages/kube/watch/informer.ts";
import { awaitObject } from "../../packages/kube/watch/object-wait.ts";
import { createLog } from "../../packages/service/log.ts";
import { outages } from "../support/fixtures/control-plane/shared-control-plane.ts";
import { ApiserverProxy } from "../support/proxies/apiserver-proxy.ts";
import { TcpProxy } from "../support/proxies/tcp-proxy.ts";

const kubeconfig = inject("kubeconfig");
let admin: KubeClient;
let proxy: TcpProxy;
const log = createLog("test");
const wait = { timeout: 120_000, interval: 50 };

beforeAll(async () => {
	const config = loadKubeConfig(kubeconfig);
	admin = KubeClient.fromConfig(config);
	const { server } = config.getCurrentCluster()!;
	proxy = await TcpProxy.start(Number(new URL(server).port));
});

afterAll(async () => {
	await proxy.close();
});

let namespace = "";
let count = 0;
const newNamespace = async () => {
	namespace = `informer-${++count}`;
	await admin.create(kinds.namespace, { metadata: { name: namespace } });
};
beforeEach(newNamespace);

function configMap(name: string, value = ""): ConfigMap {
	return { metadata: { name, namespace }, data: { value } };
}

/** A client whose connections go through the proxy. */
function shakyClient(): KubeClient {
	const config = loadKubeConfig(kubeconfig);
	const cluster = config.getCurrentCluster()!;
	const server = `https://127.0.0.1:${proxy.port}`;
	config.clusters = [{ ...cluster, server }];
	return KubeClient.fromConfig(config);
}

/** An informer of the namespace's ConfigMaps (less the one that Kubernetes puts there), and what it told. */
async function follow(client: KubeClient) {
	// Not a spy, which forgets its calls before each test.
	const list = client.list.bind(client);
	let lists = 0;
	client.list = ((...args: Parameters<typeof list>) => {
		lists++;
		return list(...args);
	}) as typeof client.list;
	const seen: string[] = [];
	const stop = new AbortController();
	const informer = new Informer(client, kinds.configMap, {
		namespaces: [namespace],
		fieldSelector: "metadata.name!=kube-root-ca.crt",
		log,
	});
	informer.onChange(({ metadata, data }, previous, deleted) => {
		const sign = deleted ? "-" : previous ? "~" : "+";
		seen.push(`${sign}${metadata.name}=${data?.value}`);
	});
	const running = informer.run(stop.signal);
	await informer.synced;
	return {
		informer,
		seen,
		lists: () => lists,
		stop: async () => {
			stop.abort();
			await running;
		},
	};
}

test("what changes is told in order, and a name given to another object as deletion and addition", async () => {
	await admin.create(kinds.configMap, configMap("a", "1"));
	const { seen, informer, stop } = await follow(admin);
	expect(seen).toEqual(["+a=1"]);
	await admin.replace(kinds.configMap, configMap("a", "2"));
	await admin.delete(kinds.configMap, "a", namespace);
	await admin.create(kinds.configMap, configMap("a", "3"));
	await vi.waitFor(() => expect(seen).toHaveLength(4), wait);
	expect(seen).toEqual(["+a=1", "~a=2", "-a=2", "+a=3"]);
	expect(informer.get(namespace, "a")?.data).toEqual({ value: "3" });
	await stop();
});

test("a broken connection is taken up where it stopped, without listing again", async () => {
	const { seen, lists, stop } = await follow(shakyClient());
	await admin.create(kinds.configMap, configMap("before", "1"));
	await admin.delete(kinds.configMap, "before", namespace);
	await vi.waitFor(() => expect(seen).toHaveLength(2), wait);
	seen.length = 0;
	await proxy.close();
	await admin.create(kinds.configMap, configMap("a", "1"));
	await admin.delete(kinds.configMap, "a", namespace);
	await proxy.open();
	// A list would show nothing of it.
	await vi.waitFor(() => expect(seen).toEqual(["+a=1", "-a=1"]), wait);
	expect(lists()).toBe(1);
	await stop();
});

test("a list starts again when etcd has compacted its version halfway", async () => {
	const names = Array.from({ length: 501 }, (_, i) => `many-${i}`);
	await Promise.all(
		names.map((name) => admin.create(kinds.configMap, configMap(name))),
	);
	const between = await ApiserverProxy.start(loadKubeConfig(kubeconfig));
	let pages = 0;
	between.onRequest = async ({ query }) => {
		if (!query.has("continue") || ++pages > 1) return;
		await admin.delete(kinds.configMap, "many-0", namespace);
		await admin.create(kinds.configMap, configMap("many-501"));
		await outages.kill();
		await outages.compact();
		await outages.start();
	};
	const { informer, stop } = await follow(
		// It waits for as long as the apiserver is away in the middle.
		KubeClient.fromConfig(between.kubeConfig, { requestTimeoutMs: 600_000 }),
	);
	expect(between.requests.map(({ status }) => status)).toContain(410);
	expect(
		informer
			.list()
			.map(({ metadata }) => metadata.name)
			.sort(),
	).toEqual([...names.slice(1), "many-501"].sort());
	await stop();
	await between.close();
});

describe("an apiserver that was killed and is back", () => {
	let direct: Awaited<ReturnType<typeof follow>>;
	let cutOff: typeof direct;
	let awaited: ConfigMap;
	let itsNamespace: string;

	beforeAll(async () => {
		await newNamespace();
		itsNamespace = namespace;
		for (const name of ["kept", "gone", "reborn"])
			await admin.create(kinds.configMap, configMap(name, "old"));
		[direct, cutOff] = [await follow(admin), await follow(shakyClient())];
		awaited = (await admin.get(kinds.configMap, "kept", namespace))!;
		await proxy.close();
		await admin.delete(kinds.configMap, "gone", namespace);
		await admin.delete(kinds.configMap, "reborn", namespace);
		await admin.create(kinds.configMap, configMap("reborn", "new"));
		await vi.waitFor(() => expect(direct.seen).toHaveLength(6), wait);
		for (const { seen } of [direct, cutOff]) seen.length = 0;
		// Its watch cache begins where it starts, so older versions are 410 Expired.
		await outages.kill();
		await outages.start();
		await proxy.open();
	});

	afterAll(async () => {
		await direct.stop();
		await cutOff.stop();
	});

	beforeEach(() => {
		namespace = itsNamespace;
	});

	test("is followed again", async () => {
		await admin.create(kinds.configMap, configMap("after", "1"));
		await vi.waitFor(() => expect(direct.seen).toEqual(["+after=1"]), wait);
	});

	test("has forgotten the version, so a new list tells what was missed", async () => {
		const { seen, lists } = cutOff;
		await vi.waitFor(() => expect(seen).toHaveLength(4), wait);
		expect(seen.toSorted()).toEqual(
			["-gone=old", "-reborn=old", "+reborn=new", "+after=1"].toSorted(),
		);
		expect(seen.indexOf("-reborn=old")).toBeLessThan(
			seen.indexOf("+reborn=new"),
		);
		expect(lists()).toBeGreaterThan(1);
	});

	test("lets a wait for an object that last changed before hear of its next change, and be asked once more", async () => {
		await direct.stop();
		const watch = vi.spyOn(admin, "watch");
		const waiting = awaitObject(
			admin,
			kinds.configMap,
			awaited,
			({ data }) => data?.value === "new",
			AbortSignal.timeout(120_000),
		);
		await vi.waitUntil(() => watch.mock.calls.length >= 2, wait);
		// Time for as many questions as it has.
		for (let time = 0; time < 100; time++)
			await admin.get(kinds.configMap, "kept", namespace);
		expect(watch.mock.calls.length).toBeLessThan(5);
		await admin.replace(kinds.configMap, configMap("kept", "new"));
		expect((await waiting)?.data).toEqual({ value: "new" });
	});
});

test("a watch on which nothing is heard is given up", async () => {
	const client = shakyClient();
	const { metadata } = await client.list(kinds.configMap, { namespace });
	const watch = client.watch(kinds.configMap, {
		namespace,
		resourceVersion: metadata.resourceVersion!,
		timeoutSeconds: 300,
		silenceMs: 10_000,
		signal: AbortSignal.timeout(120_000),
	});
	await admin.create(kinds.configMap, configMap("a"));
	expect((await watch.next()).value).toMatchObject({ type: "ADDED" });
	// Kubernetes' own ConfigMap may come before or after this one.
	const rest = Array.fromAsync(watch);
	proxy.stall();
	await expect(rest).rejects.toThrow("no byte for 10000 ms");
	proxy.reset();
});

test("a version that is gone is refused as 410", async () => {
	const watch = admin.watch(kinds.configMap, {
		resourceVersion: "1",
		timeoutSeconds: 10,
		silenceMs: 120_000,
		signal: AbortSignal.timeout(120_000),
	});
	const first = await watch.next().catch((error) => error);
	const refusal =
		first instanceof KubeApiError ? first.status : first.value?.object.code;
	expect(refusal).toBe(410);
});
