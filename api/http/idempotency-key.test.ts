import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { runKind } from "../../crds/generated/types.ts";
import {
	KubeApiError,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import { memoryIdempotencyStore } from "../../test/support/doubles/idempotency/memory-store.ts";
import type { IdempotentRequest } from "./endpoint.ts";
import { RequestError } from "./errors.ts";
import {
	createOnce,
	performOnce,
	requestAnnotation,
} from "./idempotency-key.ts";

const request = {
	account: "shop",
	subject: "ada",
	path: "/v1/destinations{}",
	body: { type: "DuckDB" },
	key: "monday",
};

test("a repeat knows the name of what the first request created", async () => {
	const { store, perform, performed } = setup();
	expect(await performOnce(store, request, perform)).toEqual({ name: "one" });
	await performOnce(store, request, perform);
	const [first, repeat] = performed;
	expect(first).toEqual({ digest: expect.stringMatching(/^[0-9a-f]{64}$/) });
	expect(repeat).toEqual({ digest: first!.digest, created: "one" });
});

test.each([
	["account", { account: "bank" }],
	["caller", { subject: "bob" }],
	["path", { path: "/v1/sources{}" }],
	["key", { key: "tuesday" }],
])(
	"the same key and body with another %s is another request",
	async (_, other) => {
		const { store, perform, performed } = setup();
		await performOnce(store, request, perform);
		await performOnce(store, { ...request, ...other }, perform);
		expect(performed[1]!.created).toBeUndefined();
		expect(performed[1]!.digest).not.toBe(performed[0]!.digest);
	},
);

test("a repeat with a different body is refused and not performed", async () => {
	const { store, perform, performed } = setup();
	await performOnce(store, request, perform);
	await expect(
		performOnce(store, { ...request, body: undefined }, perform),
	).rejects.toMatchObject({ code: "Conflict" });
	expect(performed).toHaveLength(1);
});

test("a request without a body and one with {} repeat each other", async () => {
	const { store, perform, performed } = setup();
	await performOnce(store, { ...request, body: undefined }, perform);
	await performOnce(store, { ...request, body: {} }, perform);
	expect(performed[1]).toEqual({ ...performed[0], created: "one" });
});

test("a request without a body repeats one that an earlier version has performed", async () => {
	const { store, perform, performed, records } = setup();
	const bodyless = { ...request, body: undefined };
	await performOnce(store, bodyless, perform);
	for (const record of records.values())
		record.bodyHash = hash("sha256", JSON.stringify([request.key, null]));
	await performOnce(store, bodyless, perform);
	expect(performed[1]).toEqual({ ...performed[0], created: "one" });
});

test("the stored hash of a body differs from key to key, so that nobody can guess the body", async () => {
	const { store, perform, records } = setup();
	await performOnce(store, request, perform);
	await performOnce(store, { ...request, key: "tuesday" }, perform);
	const hashes = [...records.values()].map(({ bodyHash }) => bodyHash);
	expect(new Set(hashes).size).toBe(2);
});

test.each([
	["a refusal of ours", new RequestError("InvalidRequest", "no"), 0],
	[
		"the apiserver's refusal",
		new KubeApiError(403, { reason: "Forbidden" }),
		0,
	],
	["an unknown outcome", new KubeApiError(504, { reason: "Timeout" }), 1],
	["our own failure", new Error("broken"), 1],
])("after %s the store has its key: %#", async (_, error, kept) => {
	const { store, records } = setup();
	const failing = performOnce(store, request, () => Promise.reject(error));
	await expect(failing).rejects.toBe(error);
	expect(records.size).toBe(kept);
});

test("a refused repeat leaves the first request's key, and another body is still a conflict", async () => {
	const { store, perform, records } = setup();
	const failing = performOnce(store, request, () =>
		Promise.reject(new Error("no answer")),
	);
	await expect(failing).rejects.toThrow("no answer");
	const refusal = new RequestError("Forbidden", "no");
	const repeat = performOnce(store, request, () => Promise.reject(refusal));
	await expect(repeat).rejects.toBe(refusal);
	expect(records.size).toBe(1);
	await expect(
		performOnce(store, { ...request, body: {} }, perform),
	).rejects.toMatchObject({ code: "Conflict" });
});

test("a refusal is answered even if its key can't be dropped", async () => {
	const { store } = setup();
	const stuck = { ...store, drop: () => Promise.reject(new Error("away")) };
	const refusal = new RequestError("InvalidRequest", "no");
	await expect(
		performOnce(stuck, request, () => Promise.reject(refusal)),
	).rejects.toBe(refusal);
});

test("an account with too many keys is told to wait, and nothing is performed", async () => {
	const { store, perform, performed } = setup();
	const full = { ...store, getOrCreate: async () => "full" as const };
	await expect(performOnce(full, request, perform)).rejects.toMatchObject({
		code: "RateLimited",
		headers: { "retry-after": "60" },
	});
	expect(performed).toEqual([]);
});

test("after a failure, a repeat is performed under the same digest", async () => {
	const { store, perform, performed } = setup();
	const digests: string[] = [];
	const failing = performOnce(store, request, async ({ digest }) => {
		digests.push(digest);
		throw new Error("refused");
	});
	await expect(failing).rejects.toThrow("refused");
	await performOnce(store, request, perform);
	expect(performed).toEqual([{ digest: digests[0] }]);
});

test.each(["", "x".repeat(256), "é", "a\n", "\u007f"])(
	"the key %j is refused before anything is stored",
	async (key) => {
		const { store, perform, records } = setup();
		await expect(
			performOnce(store, { ...request, key }, perform),
		).rejects.toMatchObject({
			code: "InvalidRequest",
			details: [{ path: "Idempotency-Key" }],
		});
		expect(records.size).toBe(0);
	},
);

test.each(["x", "x".repeat(255), "~ !"])(
	"the key %j is accepted",
	async (key) => {
		const { store, perform } = setup();
		expect(await performOnce(store, { ...request, key }, perform)).toEqual({
			name: "one",
		});
	},
);

test("without the store, a request is refused as Unavailable and not performed", async () => {
	const { perform, performed } = setup();
	const away = async () => {
		throw new Error("no connection");
	};
	const store = { getOrCreate: away, complete: away, drop: away };
	await expect(performOnce(store, request, perform)).rejects.toMatchObject({
		code: "Unavailable",
		headers: { "retry-after": "2" },
	});
	expect(performed).toEqual([]);
});

test("a result that can't be stored is reported as Unavailable, for the caller to repeat", async () => {
	const { store, perform } = setup();
	const forgetful = {
		...store,
		complete: async () => {
			throw new Error("no connection");
		},
	};
	await expect(performOnce(forgetful, request, perform)).rejects.toMatchObject({
		code: "Unavailable",
	});
});

const idempotent = { digest: "a".repeat(64) };
const metadata = { name: "orders-1", namespace: "shop" };
const exists = new KubeApiError(409, { reason: "AlreadyExists" });

test("a repeat returns the object that the first request created", async () => {
	const existing = {
		metadata: { ...metadata, ...requestAnnotation(idempotent) },
	};
	expect(await create(existing, idempotent)).toBe(existing);
});

test.each([
	[
		"another request",
		requestAnnotation({ digest: "b".repeat(64) }),
		idempotent,
	],
	["no request", {}, idempotent],
	["this request, without its key,", requestAnnotation(idempotent), undefined],
])("an object created by %s is a conflict", async (_, annotations, by) => {
	const existing = { metadata: { ...metadata, ...annotations } };
	await expect(create(existing, by)).rejects.toBe(exists);
});

function create(existing: object, by: IdempotentRequest | undefined) {
	const client = { get: async () => existing } as unknown as KubeClient;
	return createOnce(client, runKind, metadata, by, async () => {
		throw exists;
	});
}

/** A store in memory, and requests that each create an object called "one". */
function setup() {
	const { store, records } = memoryIdempotencyStore();
	const performed: IdempotentRequest[] = [];
	const perform = async (once: IdempotentRequest) => {
		performed.push(once);
		return { name: "one" };
	};
	return { store, records, perform, performed };
}
