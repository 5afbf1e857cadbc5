// In make test: cli/backup/backup-text.test.ts
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, inject, test } from "vitest";
// yaml: reads YAML 1.2 to the letter.
import { parse, stringify } from "yaml";
import type { Compared } from "../../cli/backup/comparison.ts";
import {
	destinationKind,
	pipelineKind,
	sourceKind,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { apiVersionOf } from "../../packages/kube/resource.ts";
import { inProcess } from "../support/cli/in-process.ts";
import {
	administrator,
	newAccount,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { readAcceptedManifests } from "../support/manifests/manifest.ts";
import { kubectlDone } from "../support/servers/kubectl.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/* A backup of an account with every field of every kind, which is deleted and applied again. */

const admin = administrator();
const backedUp = [trackingPlanKind, destinationKind, sourceKind, pipelineKind];
const all = readAcceptedManifests().map((manifest, i) => ({
	...manifest,
	metadata: {
		...manifest.metadata,
		name: manifest.metadata.name ?? `generated-${i}`,
	},
}));
const manifests = all.filter(({ kind }) =>
	backedUp.some((each) => each.kind === kind),
);
const secretValue = "nobody-reads-this";
let account: string;
let tokens: Awaited<ReturnType<typeof newAccount>>["tokens"];
let folder: string;
let backup: string;

beforeAll(async () => {
	({ account, tokens } = await newAccount());
	folder = await temporaryDirectory("backup");
	backup = join(folder, "backup.yaml");
	await kubectlDone(
		["create", "--namespace", account, "--filename=-"],
		all.map((each) => stringify(each)).join("---\n"),
	);
	for (const { kind, name } of references(manifests)) await create(kind, name);
	const { metadata } = manifests.find(({ kind }) => kind === "Source")!;
	await admin.patch(
		sourceKind,
		metadata.name,
		account,
		{ status: { webhookURL: "https://receive/hooks/source-key/url-key" } },
		"merge",
		{ subresource: "status" },
	);
});

test("a backup has all that is configured, names what it needs, and has nothing secret", async () => {
	const { exitCode, stdout, stderr } = await tidemill("backup");
	expect([exitCode, stderr]).toEqual([0, ""]);
	await writeFile(backup, stdout);
	for (const { kind, metadata } of manifests)
		expect(stdout).toMatch(
			new RegExp(`^kind: ${kind}\nmetadata:\n  name: ${metadata.name}$`, "m"),
		);
	expect(stdout).toContain("\n#\tSecret\t");
	for (const { kind, name } of references(manifests))
		expect(stdout).toMatch(
			kind === "ConfigMap"
				? new RegExp(`^kind: ConfigMap\nmetadata:\n  name: ${name}$`, "m")
				: new RegExp(`^#\t${kind}\t${account}\t${name}\t`, "m"),
		);
	expect(stdout).not.toMatch(/^kind: (Run|Operation|Secret)$/m);
	expect(stdout).not.toContain(secretValue);
	expect(stdout).not.toContain("url-key");
});

test("a check names what the cluster and the backup lack or have otherwise, and what is needed", async () => {
	const sources = manifests.filter(({ kind }) => kind === "Source");
	const missing = (await check()).needed.filter(
		({ state }) => state === "Missing",
	);
	expect(missing.map(({ name }) => name).sort()).toEqual(
		expect.arrayContaining(
			sources.map(({ metadata }) => `${metadata.name}-webhook-url`).sort(),
		),
	);
	for (const { kind, name } of missing) await create(kind, name);
	expect(await check()).toMatchObject({ exitCode: 0, different: [] });

	const [changed, gone] = sources.map(({ metadata }) => metadata.name);
	const patch = { spec: { displayName: "another", suspend: true } };
	await admin.patch(sourceKind, changed!, account, patch, "merge");
	await admin.delete(sourceKind, gone!, account);
	const type = { apiVersion: apiVersionOf(sourceKind), kind: "Source" };
	await admin.create(sourceKind, {
		...type,
		metadata: { name: "added", namespace: account },
		spec: { type: "Webhook" },
	} as never);
	const found = await check();
	expect(found.exitCode).toBe(1);
	expect(found.different).toEqual(
		expect.arrayContaining([
			["added", "OnlyInCluster"],
			[changed, "Changed", "spec.displayName", "spec.suspend"],
			[gone, "OnlyInBackup"],
		]),
	);
	expect(found.different).toHaveLength(3);
	await admin.delete(sourceKind, "added", account);
	// What the backup lacks stays where kubectl applies it.
	const undone = { spec: { displayName: null } };
	await admin.patch(sourceKind, changed!, account, undone, "merge");
});

test("kubectl applies the backup to an empty account, and all is as before", async () => {
	const specs = async () => {
		const lists = await Promise.all(
			[kinds.configMap, ...backedUp].map((kind) =>
				admin.list(kind, { namespace: account }),
			),
		);
		return lists
			.flatMap(({ items }) => items)
			.filter(({ metadata }) => metadata.name !== "kube-root-ca.crt")
			.map(({ metadata, ...object }) => {
				const { spec, data } = object as { spec?: object; data?: object };
				return [metadata.name, metadata.labels, spec ?? data];
			});
	};
	await kubectlDone([
		"apply",
		"--server-side",
		"--force-conflicts",
		`-f${backup}`,
	]);
	const before = await specs();
	for (const kind of backedUp) await admin.raw("DELETE", pathOf(kind.kind), {});
	for (const { kind, name } of references(manifests))
		if (kind === "ConfigMap")
			await admin.delete(kinds.configMap, name, account);
	expect((await check()).different).toHaveLength(before.length);
	await kubectlDone(["apply", "--server-side", `-f${backup}`]);
	expect(await specs()).toEqual(before);
	expect(await check()).toMatchObject({ exitCode: 0, different: [] });
});

test("who may only view resources backs them up, and a check says which Secrets to look for", async () => {
	const config = parse(await readFile(inject("kubeconfig"), "utf8"));
	for (const { user } of config.users) {
		for (const key of Object.keys(user)) delete user[key];
		user.token = tokens.viewer;
	}
	const kubeconfig = join(folder, "viewer.yaml");
	await writeFile(kubeconfig, stringify(config));
	const as = `--kubeconfig=${kubeconfig}`;
	const { stdout } = await tidemill("backup", as);
	// No ready-made role reads ConfigMaps, so their names are among what is needed.
	const kindsIn = (text: string) => text.match(/^kind: (?!ConfigMap).*/gm);
	const text = await readFile(backup, "utf8");
	expect(kindsIn(stdout)).toEqual(kindsIn(text));
	expect(stdout).toMatch(/^#\tConfigMap\t/m);
	const { needed, different } = await check(as);
	expect(different).toEqual([]);
	expect(new Set(needed.map(({ state }) => state))).toEqual(
		new Set(["Unseen"]),
	);
	const shown = await tidemill("restore", "--check", backup, as);
	expect(shown.stdout).toContain("look yourself");
});

async function tidemill(...args: string[]) {
	return inProcess(
		...[...args, `--namespace=${account}`],
		...(args.some((arg) => arg.startsWith("--kubeconfig"))
			? []
			: [`--kubeconfig=${inject("kubeconfig")}`]),
	);
}

async function check(...args: string[]) {
	const { exitCode, stdout, stderr } = await tidemill(
		...["restore", "--check", backup, "--output=json", ...args],
	);
	expect(stderr).toBe("");
	const { resources, needed } = JSON.parse(stdout) as {
		resources: Compared[];
		needed: { kind: string; name: string; state: string }[];
	};
	const different = resources
		.filter(({ state }) => state !== "Same")
		.map(({ name, state, fields }) => [name, state, ...fields]);
	return { exitCode, different, needed };
}

function pathOf(kind: string): string {
	const own = backedUp.find((each) => each.kind === kind);
	const plural = own?.plural ?? `${kind.toLowerCase()}s`;
	return `${own ? `/apis/${apiVersionOf(own)}` : "/api/v1"}/namespaces/${account}/${plural}`;
}

async function create(kind: string, name: string): Promise<void> {
	const data = { value: secretValue };
	const labels = { "tidemill.dev/use": "true" };
	const claim = {
		accessModes: ["ReadWriteOnce"],
		resources: { requests: { storage: "1Mi" } },
	};
	await admin.raw("POST", pathOf(kind), {
		body: {
			metadata: { name, labels },
			...(kind === "Secret" && { stringData: data }),
			...(kind === "ConfigMap" && { data: { schema: "{}" } }),
			...(kind === "PersistentVolumeClaim" && { spec: claim }),
		},
	});
}

/** What manifests name, by how fields of Kubernetes are called. A tracking plan's own schemas name nothing. */
function references(value: unknown): { kind: string; name: string }[] {
	const found = new Map<string, { kind: string; name: string }>();
	const add = (kind: string, name: string) =>
		found.set(`${kind}/${name}`, { kind, name });
	const walk = (value: unknown) => {
		if (typeof value !== "object" || value === null) return;
		for (const [key, inner] of Object.entries(value)) {
			const named = [inner].flat() as { name: string }[];
			if (/^(ca)?secretRefs?$|^imagePullSecrets$/i.test(key))
				for (const { name } of named) add("Secret", name);
			else if (key === "configMapKeyRef") add("ConfigMap", named[0]!.name);
			else if (key === "serviceAccountName")
				add("ServiceAccount", inner as string);
			else if (key === "volumeClaimName")
				add("PersistentVolumeClaim", inner as string);
			else if (!/^(common|schema)$/.test(key)) walk(inner);
		}
	};
	walk(value);
	return [...found.values()];
}
