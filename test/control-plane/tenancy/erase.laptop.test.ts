import { beforeAll, expect, inject, test, vi } from "vitest";
import { operationKind } from "../../../crds/generated/types.ts";
import type { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadCluster } from "../../../packages/kube/client/cluster.ts";
import { tokenClients } from "../../../packages/kube/client/token-clients.ts";
import {
	newAccount,
	tokenOf,
} from "../../support/fixtures/control-plane/api-fixture.ts";

/* Who may change everything erases nothing, and who may erase changes nothing else. */

const clientOf = tokenClients(loadCluster(inject("kubeconfig")));
let account: string;
let editor: KubeClient;
let eraser: KubeClient;
let both: KubeClient;

beforeAll(async () => {
	const made = await newAccount();
	account = made.account;
	editor = clientOf(made.tokens.editor);
	eraser = clientOf(await tokenOf(account, "eraser", "tidemill-eraser"));
	both = clientOf(
		await tokenOf(account, "both", "tidemill-editor", "tidemill-eraser"),
	);
	// The apiserver decides by policies that it has in memory, where a new one comes a moment later.
	await vi.waitFor(
		() =>
			expect(create(editor, "first", erase)).rejects.toMatchObject({
				status: 403,
			}),
		{ timeout: 60_000, interval: 50 },
	);
});

const erase = {
	type: "Erase",
	filter: { eventIDs: ["01890a5d-ac96-774b-b1a1-c2d3e4f50617"] },
	erase: { mode: "RemoveRow", confirm: "shop" },
};
const release = { type: "Release" };

function create(client: KubeClient, name: string, spec: object) {
	return client.create(
		operationKind,
		{
			metadata: { name, namespace: account },
			spec: { sourceRef: { name: "shop" }, ...spec },
		} as never,
		{ dryRun: true } as never,
	);
}

test("an editor creates no Erase, and the refusal names the right and the role", async () => {
	await expect(create(editor, "one", release)).resolves.toBeDefined();
	await expect(create(editor, "one", erase)).rejects.toThrow(
		/erase sources\/bodies\.tidemill\.dev, which the role tidemill-eraser has/,
	);
});

test("an eraser creates an Erase, and no other Operation", async () => {
	await expect(create(eraser, "two", erase)).resolves.toBeDefined();
	await expect(create(eraser, "other", release)).rejects.toThrow(
		/only Operations of the type Erase/,
	);
});

test("who has both roles creates either", async () => {
	await expect(create(both, "three", erase)).resolves.toBeDefined();
	await expect(create(both, "four", release)).resolves.toBeDefined();
});
