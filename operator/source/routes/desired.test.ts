import { expect, test } from "vitest";
import type { Source } from "../../../crds/generated/types.ts";
import { label } from "../../../crds/labels.ts";
import type { Secret } from "../../../packages/kube/kinds.ts";
import { routeWith } from "../../../test/support/examples/route-example.ts";
import { desiredRoutes, type RouteFacts } from "./decide.ts";
import { keysSecret, newKeys, readKeys } from "./keys.ts";

function source(name: string, created: string): Source {
	return {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Source",
		metadata: { name, namespace: "shop", creationTimestamp: created },
		spec: {
			type: "Webhook",
			webhook: { authorization: { type: "None" }, maxBodyBytes: 1 },
			suspend: false,
			retentionDays: 30,
			deletionPolicy: "Retain",
		},
	};
}

/** As the apiserver gives it back: text has become base64. */
function stored({ stringData, ...secret }: Secret): Secret {
	const data = Object.fromEntries(
		Object.entries(stringData ?? {}).map(([key, text]) => [
			key,
			Buffer.from(text).toString("base64"),
		]),
	);
	return { ...secret, data };
}

function issuedFor(name: string): Secret {
	return stored(keysSecret({ namespace: "shop", name }, newKeys(4)));
}

function namesOf(sources: Source[], secrets: Secret[]): string[] {
	return desiredRoutes(sources, {
		...nothingElse,
		secretOf: (_, name) =>
			secrets.find(({ metadata }) => metadata.name === name),
	}).map((route) => route.source);
}

const nothingElse: RouteFacts = {
	secretOf: () => undefined,
	isUnknown: () => false,
	published: () => undefined,
	shardsOf: () => [],
	shards: 2,
	sealKey: undefined,
	receiveURL: "https://hooks.example.com",
	planOf: () => undefined,
};

test("the oldest Source comes first, and a Source without keys or in deletion has no route", () => {
	const going = source("going", "2026-01-01T00:00:00Z");
	going.metadata.deletionTimestamp = "2026-03-01T00:00:00Z";
	const sources = [
		source("young", "2026-02-01T00:00:00Z"),
		source("old", "2026-01-01T00:00:00Z"),
		source("keyless", "2026-01-01T00:00:00Z"),
		going,
	];
	const secrets = ["young", "old", "going"].map(issuedFor);
	expect(namesOf(sources, secrets)).toEqual(["old", "young"]);
});

test("a Source whose Secret is missing, unlabelled or without the key is closed, and says what it waits for and why", () => {
	const closed = source("closed", "2026-01-01T00:00:00Z");
	closed.spec.webhook!.authorization = {
		type: "CustomToken",
		customToken: { secretRef: { name: "token", key: "value" } },
	};
	const issued = issuedFor("closed");
	const unlabelled: Secret = {
		metadata: { name: "token" },
		data: { value: "czNjcmV0" },
	};
	const keyless: Secret = {
		metadata: { name: "token", labels: { [label.use]: "true" } },
		data: { other: "czNjcmV0" },
	};
	for (const [token, cause] of [
		[undefined, /^There is no Secret "token"/],
		[unlabelled, /^Secret "token" lacks the label/],
		[keyless, /^Secret "token" has no key "value"/],
	] as const) {
		const [route] = desiredRoutes([closed], {
			...nothingElse,
			secretOf: (_, name) => (name === "token" ? token : issued),
		});
		expect(route?.authorization).toEqual({
			type: "Unavailable",
			awaits: { type: "CustomToken" },
			cause: expect.stringMatching(cause),
		});
	}
	closed.spec.webhook!.authorization = {
		type: "Signature",
		signature: {
			scheme: "GitHub",
			secretRefs: [{ name: "token", key: "value" }],
			toleranceSeconds: 300,
		},
	};
	const [route] = desiredRoutes([closed], {
		...nothingElse,
		secretOf: (_, name) => (name === "token" ? undefined : issued),
	});
	expect(route?.authorization).toMatchObject({
		type: "Unavailable",
		awaits: { type: "Signature", scheme: "GitHub", keys: [] },
	});
});

test("where the operator may not read Secrets, a Source keeps its route, and no other's", () => {
	const orders = source("orders", "2026-01-01T00:00:00Z");
	const route = routeWith("url", "a".repeat(32));
	const routesOf = (source: Source) =>
		desiredRoutes([source], {
			...nothingElse,
			isUnknown: (namespace) => namespace === "shop",
			published: (sourceKey) =>
				sourceKey === route.sourceKey ? route : undefined,
		});
	expect(routesOf(orders)).toEqual([]);
	const status = { sourceKey: route.sourceKey };
	expect(routesOf({ ...orders, status })).toEqual([route]);
	const copy = { ...source("copy", "2026-01-01T00:00:00Z"), status };
	expect(routesOf(copy)).toEqual([]);
});

test("keys are read back as they were issued, only from the Source's own Secret", () => {
	const keys = newKeys(4);
	expect(keys.sourceKey).toMatch(/^[0-9a-f]{32}$/);
	const secret = stored(keysSecret({ namespace: "shop", name: "a" }, keys));
	expect(readKeys(secret, "a")).toEqual(keys);
	expect(readKeys(secret, "b")).toBeUndefined();

	const { labels } = secret.metadata;
	const unlabelled = { ...labels, [label.use]: "false" };
	expect(
		readKeys({ ...secret, metadata: { name: "a", labels: unlabelled } }, "a"),
	).toBeUndefined();
	for (const damage of [{ sourceKey: "" }, { urlKey: "eA==" }, { shard: "" }])
		expect(
			readKeys({ ...secret, data: { ...secret.data, ...damage } }, "a"),
		).toBeUndefined();
});

test("a Source keeps its route while a Secret that it names has yet to be read", () => {
	const orders = source("orders", "2026-01-01T00:00:00Z");
	const [sourceKey, other] = ["1".repeat(32), "2".repeat(32)];
	orders.status = { sourceKey };
	orders.spec.webhook!.authorization = {
		type: "CustomToken",
		customToken: { secretRef: { name: "token", key: "a" } },
	};
	const route = routeWith("key", sourceKey);
	const asked: unknown[] = [];
	const facts = {
		...nothingElse,
		isUnknown: (_: string, names: readonly string[]) => {
			asked.push(names);
			return names.includes("token");
		},
		published: (key: string) => (key === sourceKey ? route : undefined),
	};
	expect(desiredRoutes([orders], facts)).toEqual([route]);
	expect(asked).toEqual([["orders-webhook-url", "token"]]);
	orders.status = { sourceKey: other };
	expect(desiredRoutes([orders], facts)).toEqual([]);
});
