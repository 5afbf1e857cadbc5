// In make test: operator/served-namespaces.test.ts
import { randomBytes } from "node:crypto";
import {
	afterAll,
	beforeAll,
	expect,
	inject,
	onTestFinished,
	test,
	vi,
} from "vitest";
import { type Source, sourceKind } from "../../crds/generated/types.ts";
import { claimsOf } from "../../crds/installation-claims.ts";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import { type Deployment, kinds } from "../../packages/kube/kinds.ts";
import { Informer } from "../../packages/kube/watch/informer.ts";
import { createLog } from "../../packages/service/log.ts";
import { applyYaml } from "../support/fixtures/control-plane/apply-yaml.ts";
import { startNats, type TestNats } from "../support/servers/servers.ts";
import {
	startTidemill,
	type TidemillProcess,
} from "../support/servers/tidemill-process.ts";

/* Two installations in one cluster that watch the same namespace. */

const soon = { timeout: 120_000, interval: 50 };
const client = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
const suffix = randomBytes(4).toString("hex");
const [shop, billing] = [`shop-${suffix}`, `billing-${suffix}`];
const one = installation("one");
const two = installation("two");

beforeAll(async () => {
	for (const name of [shop, billing, one.namespace, two.namespace])
		await client.create(kinds.namespace, { metadata: { name } });
	for (const { namespace } of [one, two]) await createDeployment(namespace);
});

afterAll(async () => {
	await one.stop();
	await two.stop();
});

test("the first serves the namespace, the second leaves it alone, and both tell", async () => {
	await one.start([shop]);
	await createSource(shop, "orders");
	const { webhookURL } = await served(shop, "orders", one);
	await two.start([shop, billing]);
	await createSource(billing, "invoices");
	await served(billing, "invoices", two);
	await createSource(shop, "returns");
	await served(shop, "returns", one);
	expect((await source(shop, "orders")).status?.webhookURL).toBe(webhookURL);
	for (const [own, other, words] of [
		[one, two, "belongs to this installation"],
		[two, one, "which claimed it first, so this installation doesn't serve it"],
	] as const) {
		const name = `${other.namespace}/tidemill-operator`;
		const note = await vi.waitFor(() => own.eventNote(), soon);
		expect(note).toContain(`Namespace "${shop}"`);
		expect(note).toContain(words);
		expect(note).toContain(name);
		expect(own.lines.join("\n")).toContain(JSON.stringify(note).slice(1, -1));
		expect(await own.metrics()).toContain(
			`tidemill_installation_overlap{account="${shop}",other="${name}",has_it="${own === one ? "this" : "other"}"} 1`,
		);
	}
});

test("a namespace that the first gives up is served by the second from then on", async () => {
	await one.stop();
	await one.start([`none-${suffix}`]);
	// The leader that served it is gone by the time that the claim is.
	await vi.waitFor(async () => {
		expect(Object.keys((await claims(one)) ?? {})).toEqual([`none-${suffix}`]);
	}, soon);
	expect((await two.process!.ended).exitCode).toBe(1);
	expect(two.lines.join("\n")).toContain("starts anew to serve");
	await two.start([shop, billing]);
	await createSource(shop, "refunds");
	await served(shop, "refunds", two);
});

test("an installation that is removed gives up what it claims", async () => {
	await two.stop();
	await one.stop();
	await one.start([billing]);
	await vi.waitFor(
		async () => expect(await one.metrics()).toContain('has_it="other"'),
		soon,
	);
	await client.delete(kinds.deployment, "tidemill-operator", two.namespace);
	// Kubernetes' garbage collector.
	await vi.waitFor(async () => expect(await claims(two)).toBeUndefined(), soon);
	expect((await one.process!.ended).exitCode).toBe(1);
	await one.start([billing]);
	await createSource(billing, "late");
	await served(billing, "late", one);
});

test("one NATS under two names belongs to the first, and both tell", async () => {
	const nats = await startNats();
	onTestFinished(() => nats.stop());
	const [three, four] = [installation("three"), installation("four")];
	for (const [each, host] of [
		[three, "127.0.0.1"],
		[four, "localhost"],
	] as const) {
		onTestFinished(() => each.stop());
		await client.create(kinds.namespace, {
			metadata: { name: each.namespace },
		});
		await createDeployment(each.namespace);
		await each.start([each.namespace], {
			NATS_URL: nats.urlFor("operator").replace("127.0.0.1", host),
			EXCLUSIVE_STORES: `nats://${host}:4222`,
		});
		await vi.waitFor(
			async () => expect(await claims(each)).toBeDefined(),
			soon,
		);
	}
	for (const [own, words] of [
		[three, `belongs to this installation, and ${four.namespace}`],
		[four, "so this installation serves no namespace"],
	] as const) {
		const note = await vi.waitFor(() => own.eventNote(), soon);
		expect(note).toContain("the NATS that has data of Tidemill since 2");
		expect(note).toContain(words);
	}
	for (const each of [three, four])
		await createSource(each.namespace, "orders");
	await served(three.namespace, "orders", three);
	expect((await source(four.namespace, "orders")).status?.webhookURL).toBe(
		undefined,
	);
});

test("who watches all namespaces leaves out those of others", async () => {
	for (const namespace of [shop, billing])
		await client.create(kinds.configMap, {
			metadata: { name: `left-out-${suffix}`, namespace },
			data: {},
		});
	const found = new Informer(client, kinds.configMap, {
		log: createLog("test"),
	});
	const stop = new AbortController();
	const ended = found.run(stop.signal, { except: [shop] });
	await found.synced;
	const where = () =>
		found
			.list()
			.filter(({ metadata }) => metadata.name.endsWith(suffix))
			.map(({ metadata }) => metadata.namespace);
	expect(where()).toEqual([billing]);
	for (const namespace of [shop, billing])
		await client.create(kinds.configMap, {
			metadata: { name: `late-${suffix}`, namespace },
			data: {},
		});
	await vi.waitFor(() => expect(where()).toHaveLength(2), soon);
	expect(new Set(where())).toEqual(new Set([billing]));
	stop.abort();
	await ended;
});

/** An operator with a NATS of its own. */
function installation(name: string) {
	const namespace = `${name}-${suffix}`;
	let nats: TestNats | undefined;
	let port: number | undefined;
	const self = {
		namespace,
		host: `https://${name}.example`,
		process: undefined as TidemillProcess | undefined,
		lines: [] as string[],
		start: async (watched: string[], env: Record<string, string> = {}) => {
			if (!env.NATS_URL) nats ??= await startNats();
			const started = startTidemill(["operator"], {
				KUBECONFIG: inject("kubeconfig"),
				...(nats && { NATS_URL: nats.urlFor("operator") }),
				TIDEMILL_RECEIVE_URL: self.host,
				TIDEMILL_IMAGE: "tidemill.local/tidemill:test",
				WATCH_NAMESPACES: watched.join(),
				LEASE_NAMESPACE: namespace,
				OPERATOR_DEPLOYMENT: "tidemill-operator",
				LEASE_DURATION_SECONDS: "30",
				HEALTH_PORT: "0",
				...env,
			});
			self.process = started;
			self.lines = [];
			await new Promise<void>((resolve) => {
				started.onLine = (line) => {
					self.lines.push(line);
					const { healthPort } = JSON.parse(line) as { healthPort?: number };
					if (!healthPort) return;
					port = healthPort;
					resolve();
				};
			});
		},
		stop: async () => {
			self.process?.child.kill("SIGTERM");
			await self.process?.ended;
		},
		metrics: async () =>
			(await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
		eventNote: async () => {
			const { items } = await client.list(kinds.kubeEvent, { namespace });
			const event = items.find(
				({ reason }) => reason === "InstallationsOverlap",
			);
			expect(event?.regarding).toMatchObject({
				kind: "Deployment",
				name: "tidemill-operator",
			});
			return event!.note!;
		},
	};
	return self;
}

async function claims({
	namespace,
}: ReturnType<typeof installation>): Promise<
	Record<string, string> | undefined
> {
	const lease = await client.get(kinds.lease, "tidemill-operator", namespace);
	return lease && claimsOf(lease)?.since;
}

function createSource(namespace: string, name: string): Promise<unknown> {
	return applyYaml(
		namespace,
		`apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: ${name} }
spec: { type: Webhook }`,
	);
}

async function source(namespace: string, name: string): Promise<Source> {
	return (await client.get<Source>(sourceKind, name, namespace))!;
}

/** Its status once it has a URL, which that installation must have issued. */
async function served(
	namespace: string,
	name: string,
	{ host }: ReturnType<typeof installation>,
): Promise<{ webhookURL: string }> {
	const webhookURL = await vi.waitFor(async () => {
		const { status } = await source(namespace, name);
		expect(status?.webhookURL).toBeDefined();
		return status!.webhookURL!;
	}, soon);
	expect(webhookURL).toContain(`${host}/`);
	return { webhookURL };
}

/** One that nobody runs: the test runs its process. */
function createDeployment(namespace: string): Promise<Deployment> {
	const labels = { app: "operator" };
	return client.create(kinds.deployment, {
		metadata: { name: "tidemill-operator", namespace },
		spec: {
			replicas: 0,
			selector: { matchLabels: labels },
			template: {
				metadata: { labels },
				spec: { containers: [{ name: "operator", image: "none" }] },
			},
		},
	} as never);
}
