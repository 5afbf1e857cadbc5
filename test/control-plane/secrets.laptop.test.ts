import { setTimeout as delay } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import {
	type Destination,
	destinationKind,
	type Source,
	sourceKind,
} from "../../crds/generated/types.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import {
	type Route,
	routeKey,
	syncedKey,
} from "../../packages/contracts/route.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { kinds, type Secret } from "../../packages/kube/kinds.ts";
import type { ObjectDraft } from "../../packages/kube/resource.ts";
import { streamOf } from "../../packages/streams/made-streams.ts";
import { OperatorWorld } from "../support/fixtures/control-plane/operator-world.ts";
import type { SeenRequest } from "../support/proxies/apiserver-proxy.ts";

/* Tidemill reads a Secret only if it has the label. It notices the label, and says how to set it. */

/** Well before the half minute after which a missing Secret is looked for again: only its watch can tell so soon. */
const soon = { timeout: 10_000, interval: 20 };
let world: OperatorWorld;
let namespace: string;

beforeAll(async () => {
	world = await OperatorWorld.start();
	[namespace = ""] = await world.namespaces(1);
	world.startOperator([namespace], { throughProxy: true });
});

afterAll(() => world?.stop());

const serviceAccount = JSON.stringify({
	type: "service_account",
	client_email: "loader@my-project.iam.gserviceaccount.com",
	private_key: "-----BEGIN PRIVATE KEY-----",
});

const specs = {
	Source: (secret: string) => `
  type: Webhook
  webhook:
    authorization:
      type: CustomToken
      customToken: { secretRef: { name: ${secret}, key: value } }`,
	Destination: (secret: string) => `
  type: BigQuery
  bigQuery:
    projectId: my-project
    dataset: events
    credentials: { secretRef: { name: ${secret}, key: value } }`,
};

const resourceYaml = (kind: keyof typeof specs, name: string) => `
apiVersion: tidemill.dev/v1alpha1
kind: ${kind}
metadata: { name: ${name} }
spec:${specs[kind](name)}
`;

const secretYaml = (name: string) => `
apiVersion: v1
kind: Secret
metadata: { name: ${name} }
stringData: { value: '${serviceAccount}' }
`;

function change(name: string, patch: object) {
	return world.client.patch(kinds.secret, name, namespace, patch, "merge");
}

function label(name: string, value: string | null) {
	return change(name, { metadata: { labels: { "tidemill.dev/use": value } } });
}

function readyOf(kind: keyof typeof specs, name: string) {
	return kind === "Source"
		? world.client.get<Source>(sourceKind, name, namespace)
		: world.client.get<Destination>(destinationKind, name, namespace);
}

async function becomes(kind: keyof typeof specs, name: string, reason: string) {
	return vi.waitFor(async () => {
		const object = await readyOf(kind, name);
		const ready = findCondition(object?.status?.conditions, "Ready");
		expect(ready?.reason).toBe(reason);
		return ready!;
	}, soon);
}

const usable = { Source: "Active", Destination: "Verified" };
/** What a value of one control character is called. */
const unusable = { Source: "TokenInvalid", Destination: "CredentialsInvalid" };

test.each(["Source", "Destination"] as const)(
	"a Secret that has the label is used by a %s",
	async (kind) => {
		const name = `labelled-${kind.toLowerCase()}`;
		await world.apply(namespace, secretYaml(name));
		await label(name, "true");
		await world.apply(namespace, resourceYaml(kind, name));
		await becomes(kind, name, usable[kind]);
	},
);

test.each(["Source", "Destination"] as const)(
	"a Secret without the label is not read for a %s; with the label it is, and without it again no longer",
	async (kind) => {
		const name = `before-${kind.toLowerCase()}`;
		await world.apply(namespace, secretYaml(name));
		await world.apply(namespace, resourceYaml(kind, name));
		const { status, message } = await becomes(kind, name, "SecretNotLabelled");
		expect(status).toBe("False");
		expect(message).toContain(
			`kubectl label secret ${name} tidemill.dev/use=true -n ${namespace}`,
		);
		await label(name, "true");
		await becomes(kind, name, usable[kind]);
		await label(name, null);
		await becomes(kind, name, "SecretNotLabelled");
	},
);

test.each(["Source", "Destination"] as const)(
	"a Secret that comes after its %s is noticed without the label, with it, and when it goes",
	async (kind) => {
		const name = `after-${kind.toLowerCase()}`;
		await world.apply(namespace, resourceYaml(kind, name));
		await becomes(kind, name, "SecretNotFound");
		await world.apply(namespace, secretYaml(name));
		await becomes(kind, name, "SecretNotLabelled");
		await label(name, "true");
		await becomes(kind, name, usable[kind]);
		await world.client.delete(kinds.secret, name, namespace);
		await becomes(kind, name, "SecretNotFound");
	},
);

test.each(["Source", "Destination"] as const)(
	"a change of a Secret is noticed long after its %s was reconciled",
	async (kind) => {
		const name = `labelled-${kind.toLowerCase()}`;
		await change(name, { stringData: { value: "\u0001" } });
		await becomes(kind, name, unusable[kind]);
		await change(name, { data: { value: null } });
		await becomes(kind, name, "SecretKeyNotFound");
	},
);

test("a token beside a megabyte is used, its change is a route's within seconds, and a value of a megabyte is refused by its size", async () => {
	const name = "large";
	const megabyte = "x".repeat(700_000);
	await world.client.create(kinds.secret, {
		metadata: { name, namespace, labels: { "tidemill.dev/use": "true" } },
		stringData: { value: serviceAccount, megabyte },
	} as ObjectDraft<Secret>);
	await world.apply(namespace, resourceYaml("Source", name));
	await becomes("Source", name, "Active");
	const { status } = (await readyOf("Source", name)) as Source;
	const routes = await new Kvm(world.connection).open(bucket.routes);
	const route = async () =>
		(await routes.get(routeKey(status!.sourceKey!)))?.json<Route>()
			.authorization;
	const before = await route();
	await change(name, { stringData: { value: "another-token-of-16-bytes" } });
	await vi.waitFor(async () => {
		expect(await route()).toMatchObject({ type: "CustomToken" });
		expect(await route()).not.toEqual(before);
	}, soon);
	await change(name, { stringData: { value: megabyte, megabyte: "" } });
	const { message } = await becomes("Source", name, "SecretTooLarge");
	expect(message).toContain("has 700000 bytes, and 393216 is the most");
});

test("the apiserver is asked for the metadata of Secrets, and for the whole of one at a time, which has the label", () => {
	const asked = world.proxy.requests.filter(
		({ method, path }) =>
			method === "GET" &&
			path.startsWith(`/api/v1/namespaces/${namespace}/secrets`),
	);
	const whole = asked.filter(
		({ accept }) => !/;as=PartialObjectMetadata(List)?;/.test(accept),
	);
	expect(asked.length - whole.length).toBeGreaterThanOrEqual(2);
	expect(whole.length).toBeGreaterThan(0);
	for (const { query } of whole) {
		expect(query.get("watch")).toBeNull();
		expect(query.get("fieldSelector")).toMatch(/^metadata\.name=./);
		expect(query.get("labelSelector")).toBe("tidemill.dev/use=true");
	}
});

test("after a restart a token's change takes effect while another account's Secrets are still being read, and a new bucket is marked complete once all are", async () => {
	const late = { timeout: 60_000, interval: 20 };
	const [foreign = ""] = await world.namespaces(1);
	await world.stopOperator();
	world.startOperator([namespace, foreign], { throughProxy: true });
	for (const [account, name] of [
		[namespace, "own"],
		[foreign, "slow"],
	] as const) {
		await world.apply(account, secretYaml(name));
		await world.client.patch(
			kinds.secret,
			name,
			account,
			{ metadata: { labels: { "tidemill.dev/use": "true" } } },
			"merge",
		);
		await world.apply(account, resourceYaml("Source", name));
	}
	const slow = await vi.waitFor(async () => {
		const found = await world.client.get<Source>(sourceKind, "slow", foreign);
		expect(found?.status?.webhookURL).toBeDefined();
		return found!.status!.sourceKey!;
	}, late);
	await vi.waitFor(() => becomes("Source", "own", "Active"), late);
	const { status } = (await readyOf("Source", "own")) as Source;
	const routes = await new Kvm(world.connection).open(bucket.routes);
	const revision = async () =>
		(await routes.get(routeKey(status!.sourceKey!)))?.revision;
	const before = await revision();
	await world.stopOperator();

	const isReadOf = (name: string, { query }: SeenRequest) =>
		query.get("fieldSelector") === `metadata.name=${name}`;
	let { promise: released, resolve: release } = Promise.withResolvers<void>();
	let held = 0;
	world.proxy.onRequest = (request) => {
		if (!isReadOf("slow", request)) return undefined;
		held++;
		return released;
	};
	onTestFinished(() => release());
	await change("own", { stringData: { value: "another-token-of-16-bytes" } });
	world.startOperator([namespace, foreign], { throughProxy: true });
	// The client gives a request up after 30 s.
	await vi.waitFor(async () => expect(await revision()).not.toBe(before), {
		timeout: 25_000,
		interval: 20,
	});
	expect(held).toBe(1);

	await world.stopOperator();
	release();
	({ promise: released, resolve: release } = Promise.withResolvers<void>());
	const { streams } = await jetstreamManager(world.connection);
	await streams.delete(streamOf(bucket.routes));
	world.proxy.requests.length = 0;
	world.startOperator([namespace, foreign], { throughProxy: true });
	await vi.waitFor(
		() =>
			expect(
				world.proxy.requests.some(
					(request) => isReadOf("own", request) && request.isAnswered,
				),
			).toBe(true),
		{ timeout: 25_000, interval: 20 },
	);
	// What didn't wait for the other's would be published by then.
	await delay(500);
	release();
	await vi.waitFor(async () => {
		const anew = await new Kvm(world.connection).open(bucket.routes);
		const [mark, ...both] = await Promise.all(
			[syncedKey, routeKey(slow), routeKey(status!.sourceKey!)].map(
				async (key) => (await anew.get(key))?.revision ?? Number.NaN,
			),
		);
		expect(mark).toBeGreaterThan(Math.max(...both));
	}, late);
});
