import { expect, test, vi } from "vitest";
import { label } from "../../crds/labels.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import { createLog } from "../../packages/service/log.ts";
import { listedClient } from "../../test/support/doubles/kubernetes/listed-client.ts";
import {
	bigQueryOf,
	pipelineOf,
	sourceOf,
} from "../../test/support/examples/resource-examples.ts";
import { createInformers } from "./informers.ts";
import { partOf } from "./named-secrets.ts";
import { secretValue } from "./secret-ref.ts";

const log = createLog("test");
const base64 = (bytes: number) => Buffer.alloc(bytes, "x").toString("base64");
const secret = (name: string, data: Record<string, string>): Secret => ({
	metadata: {
		...{ name, namespace: "shop", uid: name, resourceVersion: "1" },
		labels: { [label.use]: "true" },
	},
	data,
});

const lake = bigQueryOf("lake", {
	credentials: { secretRef: { name: "key", key: "json" } },
});
const orders = sourceOf("orders");
orders.spec.webhook!.authorization = {
	type: "CustomToken",
	customToken: { secretRef: { name: "token", key: "a" } },
};

async function held(
	secrets: Secret[],
	destinations = [lake],
	client = listedClient({
		secrets,
		destinations,
		sources: [orders],
		pipelines: [pipelineOf()],
	}),
) {
	const informers = createInformers(client, { namespaces: undefined, log });
	const stop = new AbortController();
	const running = Object.values(informers).map((each) => each.run(stop.signal));
	await informers.secrets.synced;
	stop.abort();
	await Promise.all(running);
	return informers.secrets;
}

const read = (secret: Secret | undefined, key: string) =>
	secretValue(secret, {
		...{ namespace: "shop", name: "key", key },
		field: "spec.x",
	});

test("of a Secret the values are held that resources name, and of one that nobody names none", async () => {
	const megabyte = base64(1_000_000);
	const secrets = await held([
		secret("key", { json: "aa", megabyte }),
		secret("token", { a: "ee", megabyte }),
		secret("orders-webhook-url", { urlKey: "bb", megabyte }),
		secret("tidemill-notifications", { url: "cc", megabyte }),
		secret("unnamed", { json: "dd", megabyte }),
	]);
	expect(
		Object.fromEntries(
			secrets.list("shop").map(({ metadata, data }) => [metadata.name, data]),
		),
	).toEqual({
		key: { json: "aa" },
		token: { a: "ee" },
		"orders-webhook-url": { urlKey: "bb" },
		"tidemill-notifications": { url: "cc" },
		unnamed: undefined,
	});
});

test("a Secret is asked for as of the version that was told, so that its reading waits for nobody's other writes", async () => {
	const client = listedClient({
		secrets: [secret("token", { a: "ee" })],
		sources: [orders],
	});
	const list = vi.spyOn(client, "list");
	await held([], [], client);
	expect(
		list.mock.calls.flatMap(([{ plural }, options]) =>
			plural === "secrets" && options?.valuesOf ? [options] : [],
		),
	).toEqual([expect.objectContaining({ valuesOf: ["a"], notOlderThan: "1" })]);
});

test("a value beyond the bound isn't held, and its fault has its size and the bound", () => {
	const { part, size } = partOf(
		secret("key", { json: base64(500_000), small: "aa" }),
		["json", "small", "absent"],
	);
	expect(part.data).toEqual({ small: "aa" });
	expect(size).toBe(0);
	expect(read({ ...secret("key", {}), ...part }, "json")).toEqual({
		fault: {
			reason: "SecretTooLarge",
			message: `Key "json" of Secret "key" has 500000 bytes, and 393216 is the most.`,
		},
	});
});

test("a namespace's large values have so much room together, and a token needs none", async () => {
	const names = Array.from({ length: 20 }, (_, i) => `key-${i}`);
	const destinations = names.map((name) =>
		bigQueryOf(name, { credentials: { secretRef: { name, key: "json" } } }),
	);
	const large = { json: base64(300_000) };
	const secrets = await held(
		[
			...names.map((name) => secret(name, large)),
			secret("orders-webhook-url", { urlKey: "bb" }),
		],
		destinations,
	);
	const full = names.filter(
		(name) => "fault" in read(secrets.get("shop", name), "json"),
	);
	// 4 MiB of Base64.
	expect(names.length - full.length).toBe(10);
	expect(read(secrets.get("shop", full[0]!), "json")).toMatchObject({
		fault: {
			reason: "SecretTooLarge",
			message: expect.stringContaining("4194304 is the most"),
		},
	});
	expect(secrets.get("shop", "orders-webhook-url")?.data).toBeDefined();
});
