import { expect, test } from "vitest";
import {
	KubeApiError,
	type KubeClient,
} from "../../../packages/kube/client/client.ts";
import type { ObjectMeta } from "../../../packages/kube/resource.ts";
import { unlessNamespaceEnds } from "./state.ts";

const forbidden = new KubeApiError(403, { reason: "Forbidden" });

function ask(
	namespace: Partial<ObjectMeta> | undefined,
	request: () => Promise<string>,
) {
	const client = {
		get: async () => namespace && { metadata: { name: "shop", ...namespace } },
	} as unknown as KubeClient;
	return unlessNamespaceEnds(client, "shop", request, "gone");
}

const refuse = () => Promise.reject(forbidden);

test("what is refused in a namespace that ends is gone", async () => {
	const deletionTimestamp = "2026-03-01T12:00:00Z";
	expect(await ask({ deletionTimestamp }, refuse)).toBe("gone");
	expect(await ask(undefined, refuse)).toBe("gone");
});

test("without the binding in a namespace that stays, nothing counts as gone", async () => {
	await expect(ask({}, refuse)).rejects.toBe(forbidden);
});

test("another failure, and an answer, stay what they are", async () => {
	const away = new Error("away");
	await expect(ask(undefined, () => Promise.reject(away))).rejects.toBe(away);
	expect(await ask(undefined, async () => "here")).toBe("here");
});
