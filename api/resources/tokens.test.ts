import { expect, test } from "vitest";
import { annotation, label } from "../../crds/labels.ts";
import {
	KubeApiError,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import type { ApiRequest, IdempotentRequest } from "../http/endpoint.ts";
import { neverExpires, objectName, tokenView } from "./token.ts";
import { createToken, revokeToken } from "./tokens.ts";

const unavailable = new KubeApiError(503, { reason: "ServiceUnavailable" });
const key: IdempotentRequest = { digest: "d".repeat(64) };

test("a review that fails costs no token", async () => {
	const { create, fails } = cluster();
	fails.review = [unavailable];
	expect(await create()).toMatchObject({ name: "ci", token: "token-1" });
});

test.each(["token", "rolebindings"])(
	"a request without a key that fails at the %s leaves its name free",
	async (step) => {
		const { create, fails, objects } = cluster();
		fails[step] = [unavailable];
		await expect(create()).rejects.toBe(unavailable);
		expect([...objects.keys()]).toEqual([]);
		expect(await create()).toMatchObject({ name: "ci", scope: "read" });
	},
);

test("a repeat with the same key shows when the token that it issued expires", async () => {
	const { create, fails, objects } = cluster();
	fails.token = [undefined, unavailable];
	await create(key);
	await expect(create(key)).rejects.toBe(unavailable);
	expect(objects.size).toBe(2);
	const { token, expireTime } = (await create(key)) as Record<string, string>;
	expect([token, expireTime]).toEqual(["token-2", expiry(2)]);
	const { metadata } = objects.get("rolebindings")!;
	expect(metadata.annotations?.[annotation.tokenExpires]).toBe(expiry(2));
});

test("a token's scope is that of its role, whatever its label says", async () => {
	const { create, objects } = cluster();
	await create(key);
	const binding = objects.get("rolebindings")!;
	binding.metadata.labels![label.token] = "edit";
	expect(await create({ ...key, created: "ci" })).toMatchObject({
		scope: "read",
	});
});

test.each([
	["a role of ours", { kind: "ClusterRole", name: "tidemill-runner" }, "run"],
	["another role", { kind: "ClusterRole", name: "cluster-admin" }, "custom"],
	[
		"a Role that has our name",
		{ kind: "Role", name: "tidemill-viewer" },
		"custom",
	],
])("a hand-made binding of %s shows the scope %#", (_, roleRef, scope) => {
	const metadata = { name: objectName("ci"), namespace: "shop" };
	expect(tokenView({ metadata, roleRef } as never)).toMatchObject({
		name: "ci",
		scope,
	});
});

test("a token that a Secret holds is active, and has no time at which it expires", () => {
	const view = tokenView({
		metadata: {
			name: objectName("ci"),
			namespace: "shop",
			annotations: { [annotation.tokenExpires]: neverExpires },
		},
		roleRef: { kind: "ClusterRole", name: "tidemill-viewer" },
	} as never);
	expect(view).toMatchObject({ status: "Active" });
	expect(view).not.toHaveProperty("expireTime");
});

test.each([
	["without the time", {}],
	["with a word", { [annotation.tokenExpires]: "soon" }],
	[
		"with a time that no token of Kubernetes can have",
		{ [annotation.tokenExpires]: "2026-03-01T00:09:00Z" },
	],
])(
	"a token that may work isn't called expired: a binding %s",
	(_, annotations) => {
		const view = tokenView({
			metadata: {
				name: objectName("ci"),
				namespace: "shop",
				creationTimestamp: "2026-03-01T00:10:00Z",
				annotations,
			},
			roleRef: { kind: "ClusterRole", name: "tidemill-viewer" },
		} as never);
		expect(view).toMatchObject({ status: "Active" });
		expect(view).not.toHaveProperty("expireTime");
	},
);

test("a binding that lost its ServiceAccount is revoked like any token", async () => {
	const { create, revoke, objects } = cluster();
	await create();
	objects.delete("serviceaccounts");
	await revoke();
	expect([...objects.keys()]).toEqual([]);
	await expect(revoke()).rejects.toMatchObject({ code: "NotFound" });
});

function expiry(n: number): string {
	return `2999-01-0${n}T00:00:00Z`;
}

/** An account in memory with room for one token. `fails` has the coming failures of each step. */
function cluster() {
	const objects = new Map<string, KubeObject>();
	const fails: Record<string, (Error | undefined)[]> = {};
	let uids = 0;
	let tokens = 0;
	const step = (name: string) => {
		const failure = fails[name]?.shift();
		if (failure) throw failure;
	};
	const client = {
		get: async ({ plural }: ResourceKind<KubeObject>) => objects.get(plural),
		create: async (
			{ plural }: ResourceKind<KubeObject>,
			object: KubeObject,
		) => {
			step(plural);
			if (objects.has(plural))
				throw new KubeApiError(409, { reason: "AlreadyExists" });
			const uid = `uid-${++uids}`;
			const made = { ...object, metadata: { ...object.metadata, uid } };
			objects.set(plural, made);
			return made;
		},
		delete: async (
			{ plural }: ResourceKind<KubeObject>,
			_name: string,
			_namespace: string,
			{ uid }: { uid: string },
		) => {
			expect(uid).toBe(objects.get(plural)?.metadata.uid);
			objects.delete(plural);
			if (plural === kinds.serviceAccount.plural)
				objects.delete(kinds.roleBinding.plural);
		},
		raw: async (_method: string, path: string) => {
			if (path.includes("selfsubjectaccessreviews")) {
				step("review");
				return { status: { allowed: true } };
			}
			step("token");
			const token = `token-${++tokens}`;
			return { status: { token, expirationTimestamp: expiry(tokens) } };
		},
	} as unknown as KubeClient;
	const reply = { code: () => reply, header: () => reply } as never;
	const request = {
		params: { name: "ci" },
		body: { name: "ci", scope: "read" },
		client,
		account: "shop",
		settleWithinMs: 60_000,
		server: { clientFor: () => client },
	} as unknown as ApiRequest;
	return {
		objects,
		fails,
		create: (idempotency?: IdempotentRequest) =>
			createToken({ ...request, idempotency } as ApiRequest, reply),
		revoke: () => revokeToken(request, reply),
	};
}
