// In make test: test/control-plane/tenancy/reserved-names.laptop.test.ts
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, test, vi } from "vitest";
import { parseAllDocuments } from "yaml";
import {
	operationKind,
	pipelineKind,
	runKind,
	sourceKind,
} from "../../../crds/generated/types.ts";
import type { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadCluster } from "../../../packages/kube/client/cluster.ts";
import { tokenClients } from "../../../packages/kube/client/token-clients.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import { resourcePath } from "../../../packages/kube/resource.ts";
import { permitted } from "../../support/chart/role-rights.ts";
import {
	administrator,
	newAccount,
	tokenOf,
} from "../../support/fixtures/control-plane/api-fixture.ts";
import {
	type Kind,
	ourKinds,
	specs,
} from "../../support/fixtures/control-plane/role-attempts.ts";
import { kubectl, kubectlDone } from "../../support/servers/kubectl.ts";

/* What each role says of an object of each kind beside its spec, by each way to write it: on a new object and on one that is there. */

const all = ourKinds;
const only = (...some: unknown[]) => some as Kind[];

/** Roles, the kinds that they write, and whether they may delete and replace these, too. */
const writers: [string, roles: string[], Kind[], mayDelete: boolean][] = [
	["runner", ["tidemill-runner"], only(runKind), false],
	["eraser", ["tidemill-eraser"], only(operationKind), false],
	["editor", ["tidemill-editor", "tidemill-eraser"], all, true],
	["built-in", ["edit", "tidemill-eraser"], all, true],
];

const owner = (change: object = {}) => [
	{
		apiVersion: "v1",
		kind: "ConfigMap",
		name: "gone",
		uid: "6b1f1c1e-0000-4000-8000-000000000000",
		...change,
	},
];
const ours = [
	"tidemill.dev/trigger",
	"tidemill.dev/use",
	"tidemill.dev/issued-for",
	"tidemill.dev/anything",
	"x.y.tidemill.dev/z",
];

const refused: [string, metadata: object][] = [
	["an owner", { ownerReferences: owner() }],
	[
		"a blocking owner",
		{ ownerReferences: owner({ blockOwnerDeletion: true }) },
	],
	["a controlling owner", { ownerReferences: owner({ controller: true }) }],
	["a finalizer", { finalizers: ["example.com/never"] }],
	["our finalizer", { finalizers: ["tidemill.dev/cleanup"] }],
	["garbage collection's finalizer", { finalizers: ["foregroundDeletion"] }],
	["a finalizer of orphans", { finalizers: ["orphan"] }],
	...ours.flatMap((key): [string, object][] => [
		[`the label ${key}`, { labels: { [key]: "x" } }],
		[`the annotation ${key}`, { annotations: { [key]: "x" } }],
	]),
	["a label rotate-url", { labels: { "tidemill.dev/rotate-url": "x" } }],
	["an annotation of 16 KiB", { annotations: { a: "x".repeat(16_384) } }],
	["letters of four bytes", { annotations: { a: "😀".repeat(4_100) } }],
	["many labels", { labels: numbered(1_000, "x".repeat(20)) }],
	[
		"labels and annotations",
		{
			labels: numbered(400, "x".repeat(20)),
			annotations: { a: "x".repeat(8_000) },
		},
	],
];

function numbered(count: number, value: string): Record<string, string> {
	return Object.fromEntries(
		Array.from({ length: count }, (_, n) => [`k${n}`, value]),
	);
}

const free: [string, object][] = [
	[
		"Argo CD's",
		{
			labels: { "app.kubernetes.io/instance": "shop" },
			annotations: {
				"argocd.argoproj.io/tracking-id": "shop:tidemill.dev/Source:shop/a",
				"argocd.argoproj.io/sync-wave": "1",
			},
		},
	],
	[
		"Flux's and Helm's",
		{
			labels: {
				"kustomize.toolkit.fluxcd.io/name": "shop",
				"kustomize.toolkit.fluxcd.io/namespace": "flux-system",
				"app.kubernetes.io/managed-by": "Helm",
			},
			annotations: { "meta.helm.sh/release-name": "shop" },
		},
	],
	["16,384 bytes", { annotations: { a: "x".repeat(16_383) } }],
	[
		"what kubectl applied last",
		{
			annotations: {
				"kubectl.kubernetes.io/last-applied-configuration": "x".repeat(200_000),
			},
		},
	],
	[
		"nothing of ours",
		{ annotations: { "nottidemill.dev/a": "tidemill.dev/" } },
	],
];

const clientOf = tokenClients(loadCluster(inject("kubeconfig")));
const admin = administrator();
const forbidden = { status: 403 };
let account: string;
/** One that is there, or garbage collection would delete what it owns. */
let real: ReturnType<typeof owner>[0] | undefined;
const clients = new Map<string, KubeClient>();

beforeAll(async () => {
	({ account } = await newAccount());
	for (const [name, roles] of writers) {
		const token = await tokenOf(account, `as-${name}`, ...roles);
		clients.set(name, clientOf(token));
	}
	const file = "../../../charts/tidemill/files/rbac/rbac.yaml";
	await kubectlDone(["apply", `--filename=${join(import.meta.dirname, file)}`]);
	clients.set(
		"operator",
		clientOf(await tokenOf(account, "as-operator", "tidemill-operator")),
	);
	const { metadata } = await admin.create(kinds.configMap, {
		metadata: { name: "owner", namespace: account },
	});
	[real] = owner({ name: "owner", uid: metadata.uid });
	for (const kind of all) await admin.create(kind, objectOf(kind, "there"));
	await vi.waitFor(
		async () => {
			const object = objectOf(runKind as Kind, "first", refused[0]![1]);
			const made = clients
				.get("editor")!
				.create(runKind as Kind, object, dryRun);
			await expect(made).rejects.toMatchObject(forbidden);
		},
		{ timeout: 60_000, interval: 50 },
	);
});

const dryRun = { dryRun: true };

function objectOf({ plural }: Kind, name: string, metadata: object = {}) {
	return {
		metadata: { name, namespace: account, ...metadata },
		spec: specs[plural],
	} as never;
}

/** Each way to write metadata, without a trace. */
function waysOf(
	client: KubeClient,
	kind: Kind,
	metadata: object,
	mayDelete: boolean,
) {
	const patch = (body: unknown, type: "merge" | "json") =>
		client.patch(kind, "there", account, body, type, dryRun);
	const there = objectOf(kind, "there", metadata);
	return {
		create: () => client.create(kind, objectOf(kind, "new", metadata), dryRun),
		generateName: () =>
			client.create(
				kind,
				objectOf(kind, undefined as never, {
					generateName: "new-",
					...metadata,
				}),
				dryRun,
			),
		"merge patch": () => patch({ metadata }, "merge"),
		"JSON patch": () =>
			patch(
				Object.entries(metadata).map(([field, value]) => ({
					op: "add",
					path: `/metadata/${field}`,
					value,
				})),
				"json",
			),
		"server-side apply": () =>
			client.apply(kind, there, { ...dryRun, fieldManager: "x", force: true }),
		...(mayDelete && {
			replace: async () => {
				const now = await admin.get(kind, "there", account);
				const changed = { ...now!.metadata, ...metadata };
				return client.replace(kind, { ...now!, metadata: changed }, dryRun);
			},
		}),
	};
}

describe.each(writers)("%s", (name, _, written, mayDelete) => {
	const each = written.map((kind): [string, Kind] => [kind.plural, kind]);

	test.each(each)(
		"writes none of what is Tidemill's or too large on %s",
		async (_, kind) => {
			for (const [what, metadata] of refused) {
				const ways = waysOf(clients.get(name)!, kind, metadata, mayDelete);
				for (const [way, attempt] of Object.entries(ways))
					await expect(attempt(), `${what} by ${way}`).rejects.toMatchObject(
						forbidden,
					);
			}
		},
	);

	test.each(each)("writes what other programs need on %s", async (_, kind) => {
		for (const [what, metadata] of free) {
			const ways = waysOf(clients.get(name)!, kind, metadata, mayDelete);
			for (const [way, attempt] of Object.entries(ways))
				await expect(attempt(), `${what} by ${way}`).resolves.toBeDefined();
		}
	});

	test.each(each)(
		"keeps what an object has, and changes the rest, on %s",
		async (_, kind) => {
			const object = objectOf(kind, `old-${name}`, {
				ownerReferences: [real],
				finalizers: ["example.com/held"],
				labels: { "tidemill.dev/pipeline": "orders" },
				annotations: { "tidemill.dev/trigger": "x", a: "x".repeat(60_000) },
			});
			await admin.create(kind, object);
			const patch = (metadata: object) =>
				clients
					.get(name)!
					.patch(kind, `old-${name}`, account, { metadata }, "merge", dryRun);
			await patch({
				labels: { team: "data" },
				annotations: { a: "x".repeat(50_000) },
			});
			const freed = patch({ finalizers: [] });
			if (mayDelete) await freed;
			else await expect(freed).rejects.toMatchObject(forbidden);
			for (const metadata of [
				{ ownerReferences: null },
				{
					ownerReferences: owner({
						uid: "6b1f1c1e-0000-4000-8000-000000000001",
					}),
				},
				{ finalizers: ["example.com/held", "example.com/other"] },
				{ labels: { "tidemill.dev/pipeline": null } },
				{ labels: { "tidemill.dev/pipeline": "other" } },
				{ annotations: { "tidemill.dev/trigger": null } },
				{ annotations: { "tidemill.dev/trigger": "y" } },
				{ annotations: { b: "y" } },
			])
				await expect(
					patch(metadata),
					JSON.stringify(metadata),
				).rejects.toMatchObject(forbidden);
		},
	);

	test.each(each)("has no other way to %s", async (_, kind) => {
		const client = clients.get(name)!;
		const metadata = { finalizers: ["example.com/never"] };
		for (const subresource of ["status", "scale", "finalizers"])
			await expect(
				client.patch(kind, "there", account, { metadata }, "merge", {
					...dryRun,
					subresource,
				}),
				subresource,
			).rejects.toMatchObject({ status: expect.toBeOneOf([403, 404]) });
		await expect(
			client.raw("DELETE", resourcePath(kind, account), {
				query: { dryRun: "All" },
			}),
		).rejects.toMatchObject(forbidden);
		if (!mayDelete)
			await expect(client.delete(kind, "there", account)).rejects.toMatchObject(
				forbidden,
			);
	});
});

test("the table has each of our roles that writes these kinds", () => {
	const writing = Object.entries(permitted)
		.filter(([role]) => !role.startsWith("tidemill-operator"))
		.map(([role, rights]) => [
			role,
			rights.flatMap(
				(right) => /^tidemill\.dev\/(\w+): patch$/.exec(right)?.[1] ?? [],
			),
		])
		.filter(([, plurals]) => plurals!.length > 0);
	const inTable = writers
		.filter(([name]) => name !== "built-in")
		.map(([, [role], written]) => [role, written.map(({ plural }) => plural)]);
	const sorted = (table: unknown[][]) =>
		Object.fromEntries(
			table.map(([role, plurals]) => [role, (plurals as string[]).toSorted()]),
		);
	expect(sorted(inTable)).toEqual(sorted(writing));
});

test("a runner lets no table lose rows for good, and an editor does", async () => {
	const run = {
		metadata: { name: "new", namespace: account },
		spec: { pipelineRef: { name: "orders" }, acceptLoss: ["2026-03-01"] },
	};
	const create = (role: string) =>
		clients.get(role)!.create(runKind, run, dryRun);
	await expect(create("runner")).rejects.toMatchObject({
		status: 403,
		message: expect.stringContaining("spec.acceptLoss"),
	});
	await create("editor");
});

test("tens of thousands of labels are refused like a few large ones", async () => {
	const labels = numbered(20_000, "");
	await expect(
		clients
			.get("runner")!
			.create(runKind, objectOf(runKind as Kind, "new", { labels }), dryRun),
	).rejects.toMatchObject({
		status: 403,
		message: expect.stringContaining("16384 bytes"),
	});
});

test("what people are told to annotate is theirs, there and nowhere else", async () => {
	const told = { sources: "rotate-url", destinations: "check" } as Record<
		string,
		string
	>;
	const editor = clients.get("editor")!;
	for (const kind of all)
		for (const word of ["rotate-url", "check", "request"]) {
			const metadata = { annotations: { [`tidemill.dev/${word}`]: "1" } };
			const change = editor.patch(
				kind,
				"there",
				account,
				{ metadata },
				"merge",
				dryRun,
			);
			const made = editor.create(kind, objectOf(kind, "new", metadata), dryRun);
			const outcome = (allowed: boolean) =>
				allowed ? "fulfilled" : "rejected";
			const [changed, created] = await Promise.allSettled([change, made]);
			const isTold = told[kind.plural] === word;
			expect(changed.status, `${word} of ${kind.plural}`).toBe(outcome(isTold));
			expect(created.status).toBe(outcome(isTold || word === "request"));
		}
});

test.each([["operator"], ["administrator"]])(
	"the %s sets finalizers and owners of each kind",
	async (who) => {
		const client = clients.get(who) ?? admin;
		for (const kind of all) {
			if (who === "operator" && kind.plural === "operations") continue;
			const metadata = {
				finalizers: ["tidemill.dev/cleanup"],
				ownerReferences: owner(),
			};
			await client.patch(kind, "there", account, { metadata }, "merge", dryRun);
		}
	},
);

test("someone who may update finalizers, such as a controller of a platform, sets owners", async () => {
	const inAccount = `--namespace=${account}`;
	await kubectlDone([
		...[
			"create",
			"role",
			"owns",
			"--verb=update",
			"--resource=sources.tidemill.dev/finalizers",
		],
		inAccount,
	]);
	const controller = clientOf(
		await tokenOf(account, "controller", "tidemill-editor"),
	);
	await kubectlDone([
		...["create", "rolebinding", "owns", "--role=owns", inAccount],
		`--serviceaccount=${account}:controller`,
	]);
	const owned = (kind: unknown) =>
		controller.create(
			kind as Kind,
			objectOf(kind as Kind, "owned", { ownerReferences: owner() }),
			dryRun,
		);
	await vi.waitFor(() => owned(sourceKind), { timeout: 60_000, interval: 50 });
	await expect(owned(pipelineKind)).rejects.toMatchObject(forbidden);
});

test("a namespace that is deleted ends, with all that its people have made", async () => {
	const made = await newAccount();
	const editor = clientOf(made.tokens.editor);
	for (const kind of all.filter((each) => each.plural !== "operations"))
		await editor.create(kind, {
			metadata: { name: "there", namespace: made.account },
			spec: specs[kind.plural],
		} as never);
	await admin.delete(kinds.namespace, made.account);
	await vi.waitFor(
		async () =>
			expect(await admin.get(kinds.namespace, made.account)).toBeUndefined(),
		{ timeout: 120_000, interval: 100 },
	);
});

test("a tenant's Argo CD with an editor's rights applies the examples, holds its hook and lets it go", async () => {
	const root = join(import.meta.dirname, "../../..");
	const objectsIn = (file: string) =>
		parseAllDocuments(readFileSync(join(root, file), "utf8")).map((each) =>
			each.toJS(),
		);
	const [application] = objectsIn("examples/argocd/apps/shop.yaml");
	const base: string = application.spec.source.path;
	const manifests = ["source", "destination", "pipeline"]
		.flatMap((name) => objectsIn(`${base}/${name}.yaml`))
		.map(({ metadata, ...rest }) => ({
			...rest,
			metadata: {
				...metadata,
				namespace: account,
				labels: { ...metadata.labels, "app.kubernetes.io/instance": "shop" },
				annotations: {
					...metadata.annotations,
					"argocd.argoproj.io/tracking-id": `shop:tidemill.dev/${rest.kind}:${account}/${metadata.name}`,
				},
			},
		}));
	const text = manifests.map((each) => JSON.stringify(each)).join("\n---\n");
	const asArgo = [
		`--namespace=${account}`,
		`--as=system:serviceaccount:${account}:editor`,
	];
	// Twice: the second time with what was applied last.
	for (const options of [
		[],
		[],
		["--server-side", "--field-manager=argocd-controller", "--force-conflicts"],
	])
		expect(
			await kubectl(["apply", ...options, ...asArgo, "--filename=-"], text),
		).toMatchObject({ exitCode: 0 });

	const [hook] = objectsIn("examples/presync/dry-run.yaml");
	const [plan] = objectsIn("examples/presync/tracking-plan.yaml");
	const finalizers = ["argocd.argoproj.io/hook-finalizer"];
	const held = {
		...hook,
		metadata: { ...hook.metadata, finalizers },
		spec: { ...hook.spec, plan: { inline: plan.spec } },
	};
	await kubectlDone(
		["create", ...asArgo, "--filename=-"],
		JSON.stringify(held),
	);
	const name = `operation.tidemill.dev/${hook.metadata.name}`;
	const patch = ["patch", name, "--type=merge", ...asArgo];
	await kubectlDone([...patch, '--patch={"metadata":{"finalizers":null}}']);
	await kubectlDone(["delete", name, ...asArgo]);
	// Who may not delete holds nothing by it.
	const eraser = clients.get("eraser")!;
	const metadata = { finalizers };
	await expect(
		eraser.patch(
			operationKind as Kind,
			"there",
			account,
			{ metadata },
			"merge",
		),
	).rejects.toMatchObject(forbidden);
});

test("an editor's Secrets have no owners, finalizers and marks but the label", async () => {
	const use = { "tidemill.dev/use": "true" };
	const editor = clients.get("editor")!;
	const create = (metadata: object) =>
		editor.create(
			kinds.secret,
			{
				metadata: {
					name: "planted",
					namespace: account,
					labels: use,
					...metadata,
				},
			},
			dryRun,
		);
	await create({
		annotations: { note: "x", "tidemill.dev/hosts": "postgres://db:5432" },
	});
	for (const metadata of [
		{ ownerReferences: owner({ blockOwnerDeletion: true }) },
		{ finalizers: ["example.com/never"] },
		{ labels: { ...use, "tidemill.dev/run": "x" } },
		{ annotations: { "tidemill.dev/rotate-url": "x" } },
		{ annotations: { a: "x".repeat(17_000) } },
	])
		await expect(
			create(metadata),
			JSON.stringify(metadata),
		).rejects.toMatchObject(forbidden);
});

test("objects of other applications are as before", async () => {
	const builtIn = clients.get("built-in")!;
	const metadata = {
		name: "theirs",
		namespace: account,
		ownerReferences: owner(),
		finalizers: ["example.com/theirs"],
		annotations: { "eks.amazonaws.com/role-arn": "x", a: "x".repeat(20_000) },
	};
	await builtIn.create(kinds.secret, { metadata }, dryRun);
	await builtIn.create(kinds.serviceAccount, { metadata }, dryRun);
});
