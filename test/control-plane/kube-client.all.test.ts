// In make test: packages/kube/watch/informer.test.ts
import { randomBytes } from "node:crypto";
import { beforeAll, expect, inject, test, vi } from "vitest";
import {
	hasReason,
	type KubeApiError,
	KubeClient,
} from "../../packages/kube/client/client.ts";
import { loadCluster } from "../../packages/kube/client/cluster.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import { tokenClients } from "../../packages/kube/client/token-clients.ts";
import { type ConfigMap, kinds, type Pod } from "../../packages/kube/kinds.ts";
import { KubeEventRecorder } from "../../packages/kube/reconcile/kube-events.ts";
import { writeStatus } from "../../packages/kube/reconcile/status-writer.ts";
import { createLog } from "../../packages/service/log.ts";
import { newNamespace } from "../support/servers/new-namespace.ts";

const client = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
const log = createLog("test");
const namespace = `kube-client-${randomBytes(4).toString("hex")}`;

beforeAll(() => newNamespace(client, namespace));

function configMap(name: string, data: Record<string, string>): ConfigMap {
	return { metadata: { name, namespace }, data };
}

test("what isn't there is undefined; what is deleted twice was gone", async () => {
	expect(await client.get(kinds.configMap, "none", namespace)).toBeUndefined();
	await client.create(kinds.configMap, configMap("once", {}));
	expect(await client.delete(kinds.configMap, "once", namespace)).toBe(true);
	expect(await client.delete(kinds.configMap, "once", namespace)).toBe(false);
});

test("a deletion that means another object of that name deletes nothing", async () => {
	await client.create(kinds.configMap, configMap("named", {}));
	expect(
		await client.delete(kinds.configMap, "named", namespace, { uid: "other" }),
	).toBe(false);
	expect(await client.get(kinds.configMap, "named", namespace)).toBeDefined();
});

test("a refusal carries the apiserver's reason and words", async () => {
	await client.create(kinds.configMap, configMap("twice", {}));
	const again = client.create(kinds.configMap, configMap("twice", {}));
	await expect(again).rejects.toMatchObject({
		name: "KubeApiError",
		status: 409,
		reason: "AlreadyExists",
		message: 'configmaps "twice" already exists',
	} satisfies Partial<KubeApiError>);
	const invalid = client.create(kinds.configMap, configMap("No Name", {}));
	await expect(invalid).rejects.toMatchObject({
		status: 422,
		reason: "Invalid",
	});
});

test("a list is read page by page", async () => {
	for (const name of ["p1", "p2", "p3"])
		await client.create(kinds.configMap, {
			...configMap(name, {}),
			metadata: { name, namespace, labels: { pages: "yes" } },
		});
	const page = { namespace, labelSelector: "pages=yes", limit: 2 };
	const first = await client.list(kinds.configMap, page);
	const second = await client.list(kinds.configMap, {
		...page,
		continue: first.metadata.continue,
	});
	expect(
		[...first.items, ...second.items].map(({ metadata }) => metadata.name),
	).toEqual(["p1", "p2", "p3"]);
});

test("a list that need not be newer than a version has what was there then", async () => {
	const { metadata } = await client.create(
		kinds.configMap,
		configMap("of-a-version", { a: "1" }),
	);
	const list = (notOlderThan: string) =>
		client.list(kinds.configMap, {
			...{ namespace, notOlderThan },
			fieldSelector: "metadata.name=of-a-version",
		});
	const { items } = await list(metadata.resourceVersion!);
	expect(items.map(({ data }) => data)).toEqual([{ a: "1" }]);
	await expect(list("9007199254740991")).rejects.toMatchObject({
		message: expect.stringContaining("Too large resource version"),
	});
});

test("a field that another manager owns is a conflict, unless it is forced", async () => {
	const desired = configMap("owned", { key: "ours" });
	await client.apply(kinds.configMap, desired, { fieldManager: "one" });
	const theirs = configMap("owned", { key: "theirs" });
	const refused = await client
		.apply(kinds.configMap, theirs, { fieldManager: "two" })
		.catch((error) => error);
	expect(hasReason(refused, "Conflict")).toBe(true);
	expect(refused.message).toContain('conflict with "one"');
	const taken = await client.apply<ConfigMap>(kinds.configMap, theirs, {
		fieldManager: "two",
		force: true,
	});
	expect(taken.data).toEqual({ key: "theirs" });
});

test("a token takes the place of the config's own credentials", async () => {
	const cluster = loadCluster(inject("kubeconfig"));
	const stranger = tokenClients(cluster)("not-a-token");
	await expect(
		stranger.list(kinds.configMap, { namespace }),
	).rejects.toMatchObject({ status: 401, reason: "Unauthorized" });
});

test("a status is written once, and never over one that is newer than what was read", async () => {
	const read = await client.create<Pod>(kinds.pod, {
		metadata: { name: "pod", namespace },
		spec: { containers: [{ name: "c", image: "none" }] },
	});
	const status = { ...read.status, message: "first" };
	const written = await writeStatus(client, kinds.pod, read, status, "m");
	expect(written.status).toMatchObject({ message: "first" });
	expect(await writeStatus(client, kinds.pod, written, status, "m")).toBe(
		written,
	);
	const stale = writeStatus(client, kinds.pod, read, { message: "old" }, "m");
	await expect(stale).rejects.toMatchObject({ reason: "Conflict" });
});

test("a write that is given up rejects and writes nothing more", async () => {
	const signal = AbortSignal.abort();
	const given = client.create(kinds.configMap, configMap("given-up", {}), {
		signal,
	});
	await expect(given).rejects.toThrow();
	expect(await client.get(kinds.configMap, "given-up", namespace)).toBe(
		undefined,
	);
	const kept = await client.create(kinds.configMap, configMap("kept", {}));
	const { name } = kept.metadata;
	const body = { data: { a: "b" } };
	await expect(
		client.patch(kinds.configMap, name!, namespace, body, "merge", { signal }),
	).rejects.toThrow();
	expect(await client.get(kinds.configMap, name!, namespace)).toEqual(kept);
});

test("an Event is told once and then counted", async () => {
	const regarding = await client.create(kinds.configMap, configMap("told", {}));
	const recorder = new KubeEventRecorder(client, "example.com/test", log);
	const note = {
		type: "Warning",
		reason: "Odd",
		action: "Look",
		note: `it is odd ${"é".repeat(1000)}`,
	} as const;
	recorder.record(kinds.configMap, regarding, note);
	recorder.record(kinds.configMap, regarding, note);
	const told = () => client.list(kinds.kubeEvent, { namespace });
	await vi.waitFor(
		async () => {
			const events = (await told()).items.filter(
				(event) => event.regarding?.uid === regarding.metadata.uid,
			);
			expect(events).toHaveLength(1);
			expect(events[0]).toMatchObject({ reason: "Odd", series: { count: 2 } });
			expect(Buffer.byteLength(events[0]!.note!)).toBeLessThanOrEqual(1024);
		},
		{ timeout: 120_000 },
	);
});
