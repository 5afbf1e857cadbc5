// In make test: test/control-plane/tenancy/reserved-names.laptop.test.ts
import { join } from "node:path";
import { beforeAll, expect, inject, test, vi } from "vitest";
import type { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadCluster } from "../../../packages/kube/client/cluster.ts";
import { tokenClients } from "../../../packages/kube/client/token-clients.ts";
import { tableOf } from "../../security/page.ts";
import { permitted } from "../../support/chart/role-rights.ts";
import {
	administrator,
	newAccount,
	tokenOf,
} from "../../support/fixtures/control-plane/api-fixture.ts";
import {
	attemptsOf,
	type Kind,
	makeThings,
	ourKinds,
	release,
	specs,
} from "../../support/fixtures/control-plane/role-attempts.ts";
import { kubectlDone } from "../../support/servers/kubectl.ts";

/* Each role tries everything on the real apiserver. What passes equals the tables of docs/reference/rights.md. */

const root = join(import.meta.dirname, "../../..");
const clientOf = tokenClients(loadCluster(inject("kubeconfig")));
const admin = administrator();
const roles = Object.keys(permitted).filter(
	(role) => !role.startsWith("tidemill-operator"),
);
const clients = new Map<string, KubeClient>();
let account: string;
let other: string;

beforeAll(async () => {
	({ account } = await newAccount());
	({ account: other } = await newAccount());
	const file = join(root, "charts/tidemill/files/rbac/rbac.yaml");
	await kubectlDone(["apply", `--filename=${file}`]);
	for (const role of [...roles, "tidemill-operator"])
		clients.set(role, clientOf(await tokenOf(account, `as-${role}`, role)));
	for (const each of [account, other]) await makeThings(admin, each);
	for (const kind of ourKinds)
		await admin.create(
			kind,
			objectOf(kind, "held", { finalizers: ["example.com/held"] }),
		);
	// The apiserver decides by policies that it has in memory, where a new one comes a moment later.
	await vi.waitFor(
		async () => {
			const finalizers = ["example.com/never"];
			const made = patch(clients.get("tidemill-editor")!, ourKinds[0]!, {
				finalizers,
			});
			await expect(made).rejects.toMatchObject({ status: 403 });
		},
		{ timeout: 60_000, interval: 50 },
	);
});

/** Whether somebody may do it. Fails at what is neither done nor forbidden. */
async function isAllowed(attempt: () => Promise<unknown>, what: string) {
	try {
		await attempt();
		return true;
	} catch (error) {
		const { status } = error as { status?: number };
		if (status === 403) return false;
		// No node has the Pod, and so nobody its log.
		if (status === 400 && what === "logs of Pods") return true;
		throw new Error(`${what}: ${(error as Error).message}`);
	}
}

/** Two words for all that there is of a kind, and the one for both. */
const together = [
	["Operations but Erases", "Erases", "Operations"],
	["Secrets with the label", "other Secrets", "Secrets"],
	["tokens' ServiceAccounts", "other ServiceAccounts", "ServiceAccounts"],
	["tokens' RoleBindings", "other RoleBindings", "RoleBindings"],
] as const;

function cellOf(passed: Iterable<string>): string {
	const words = new Set(passed);
	const text = [...words].flatMap((word) => {
		const pair = together.find(([one, two]) => one === word || two === word);
		if (!pair || !words.has(pair[0]) || !words.has(pair[1])) return word;
		return word === pair[0] ? pair[2] : [];
	});
	return text.join(", ") || "none";
}

test.each(roles)(
	"%s may do what docs/reference/rights.md says",
	async (role) => {
		const seen: Record<string, string> = {};
		const attempts = attemptsOf(clients.get(role)!, account);
		for (const [column, tries] of Object.entries(attempts)) {
			const passed: string[] = [];
			for (const [word, attempt] of tries)
				if (await isAllowed(attempt, word)) passed.push(word);
			seen[column] = cellOf(passed);
		}
		expect(seen).toEqual(tableOf("Role").get(`\`${role}\``));
	},
);

test("docs/reference/rights.md has a line for each role", () => {
	const lines = [...tableOf("Role").keys()];
	expect(lines.sort()).toEqual(roles.map((role) => `\`${role}\``).sort());
});

test.each(roles)("%s may do nothing in another account", async (role) => {
	for (const tries of Object.values(attemptsOf(clients.get(role)!, other)))
		for (const [word, attempt] of tries)
			expect(await isAllowed(attempt, word), word).toBe(false);
});

const dryRun = { dryRun: true };

function objectOf(
	{ plural }: Kind,
	name: string,
	metadata: object,
	spec = specs[plural],
): never {
	const named = { name, namespace: account, ...metadata };
	return { metadata: named, spec } as never;
}

const patch = (
	client: KubeClient,
	kind: Kind,
	metadata: object,
	on = "there",
) => client.patch(kind, on, account, { metadata }, "merge", dryRun);
/** An Operation may erase or not, as the role permits. */
const create = (client: KubeClient, kind: Kind, metadata: object) =>
	client
		.create(kind, objectOf(kind, "new", metadata), dryRun)
		.catch((error) => {
			if (kind.plural !== "operations") throw error;
			return client.create(
				kind,
				objectOf(kind, "new", metadata, release),
				dryRun,
			);
		});

const owner = {
	...{ apiVersion: "v1", kind: "ConfigMap", name: "gone" },
	uid: "6b1f1c1e-0000-4000-8000-000000000000",
};
const ours = (word: string) => ({
	annotations: { [`tidemill.dev/${word}`]: "x" },
});
const text = (length: number) => ({ annotations: { a: "x".repeat(length) } });

type Way = (client: KubeClient, kind: Kind) => Promise<unknown>;
const onNew =
	(metadata: object): Way =>
	(client, kind) =>
		create(client, kind, metadata);
const onOld =
	(metadata: object, on?: string): Way =>
	(client, kind) =>
		patch(client, kind, metadata, on);
const both = (metadata: object) => [onNew(metadata), onOld(metadata)];

/** By the first cells of the table: the ways to say it. */
const beside: Record<string, Way[]> = {
	"`ownerReferences`": both({ ownerReferences: [owner] }),
	"a new finalizer": both({ finalizers: ["example.com/never"] }),
	"the finalizer `argocd.argoproj.io/hook-finalizer`": both({
		finalizers: ["argocd.argoproj.io/hook-finalizer"],
	}),
	"the end of any finalizer": [onOld({ finalizers: [] }, "held")],
	"the annotation `tidemill.dev/rotate-url`": both(ours("rotate-url")),
	"the annotation `tidemill.dev/check`": both(ours("check")),
	"the annotation `tidemill.dev/request` of a new object": [
		onNew(ours("request")),
	],
	"other labels and annotations with `tidemill.dev/`": [
		onOld(ours("request")),
		...both(ours("trigger")),
		...both({ annotations: { "x.y.tidemill.dev/z": "x" } }),
		...both({ labels: { "tidemill.dev/use": "true" } }),
		...both({ labels: { "tidemill.dev/rotate-url": "x" } }),
	],
	"all other labels and annotations, such as Argo CD's, Flux's and Helm's, up to 16 KiB together":
		both(text(16_383)),
	"more than 16 KiB of them": both(text(16_384)),
	"kubectl's `last-applied-configuration`, which doesn't count": both({
		annotations: {
			"kubectl.kubernetes.io/last-applied-configuration": "x".repeat(200_000),
		},
	}),
};

test.each(Object.entries(beside))(
	"%s: on the kinds that docs/reference/rights.md says",
	async (words, ways) => {
		const seen: Record<string, string> = {};
		const told = tableOf("Of Tidemill's kinds").get(words)!;
		for (const role of Object.keys(told)) {
			const client = clients.get(role.replaceAll("`", ""))!;
			const passed: string[] = [];
			for (const kind of ourKinds)
				for (const way of ways)
					if (await isAllowed(() => way(client, kind), kind.kind))
						passed.push(`${kind.kind}s`);
			const all = new Set(passed).size === ourKinds.length;
			seen[role] = all ? "all" : cellOf(passed);
		}
		expect(seen).toEqual(told);
		expect(Object.keys(told)).toHaveLength(4);
	},
);

test("docs/reference/rights.md has a line for each of these, and no other", () => {
	const lines = [...tableOf("Of Tidemill's kinds").keys()];
	expect(lines).toEqual(Object.keys(beside));
});
