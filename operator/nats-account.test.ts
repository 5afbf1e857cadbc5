import { pino } from "pino";
import { expect, test } from "vitest";
import { annotation } from "../crds/labels.ts";
import {
	KubeApiError,
	type KubeClient,
} from "../packages/kube/client/client.ts";
import { noteAccount } from "./nats-account.ts";

const log = pino({ level: "silent" });
const key = { namespace: "tidemill", name: "operator" };

async function patchesOf(noted: string | undefined, isOwn: boolean) {
	const patches: unknown[] = [];
	const annotations =
		noted === undefined ? {} : { [annotation.natsAccount]: noted };
	const client = {
		get: async () => ({ metadata: { ...key, annotations } }),
		patch: async (...[, , , patch]: unknown[]) => patches.push(patch),
	} as unknown as KubeClient;
	await noteAccount(client, key, isOwn, log);
	return patches;
}

test.each([
	["a missing account", undefined, false, "shared"],
	["an account that is there by now", "shared", true, null],
])("the Lease tells of %s", async (_, noted, isOwn, value) => {
	const annotations = { [annotation.natsAccount]: value };
	expect(await patchesOf(noted, isOwn)).toEqual([
		{ metadata: { annotations } },
	]);
});

test("what the Lease says already isn't written again", async () => {
	expect(await patchesOf("shared", false)).toEqual([]);
	expect(await patchesOf(undefined, true)).toEqual([]);
});

test("an apiserver that refuses doesn't end the operator", async () => {
	const client = {
		get: async () => {
			throw new KubeApiError(403, { reason: "Forbidden" });
		},
	} as unknown as KubeClient;
	await expect(noteAccount(client, key, true, log)).resolves.toBeUndefined();
});
