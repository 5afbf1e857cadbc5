// In make test: cli/bin/command-line.test.ts
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
	afterAll,
	afterEach,
	beforeAll,
	expect,
	inject,
	test,
	vi,
} from "vitest";
import { isApiOf } from "../../cli/command/own-api.ts";
import { makeOwnToken } from "../../cli/command/own-token.ts";
import { restApi } from "../../cli/command/rest.ts";
import { type Source, sourceKind } from "../../crds/generated/types.ts";
import { annotation } from "../../crds/labels.ts";
import { kubeconfig } from "../../local/servers/kubeconfig.ts";
import { issueCertificate } from "../../operator/install/certificate.ts";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadCluster } from "../../packages/kube/client/cluster.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import { kinds, type RoleBinding } from "../../packages/kube/kinds.ts";
import { type Answer, inProcess } from "../support/cli/in-process.ts";
import {
	administrator,
	newAccount,
	startApi,
	type TestApi,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { applyYaml } from "../support/fixtures/control-plane/apply-yaml.ts";
import { OperatorWorld } from "../support/fixtures/control-plane/operator-world.ts";
import { kubectlDone } from "../support/servers/kubectl.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/* With a kubeconfig alone, commands ask the REST API as the person whose kubeconfig it is, and no other API gets a token of it. */

const soon = { timeout: 120_000, interval: 100 };
const admin = administrator();
let api: TestApi;
let account: string;
let tokens: Awaited<ReturnType<typeof newAccount>>["tokens"];
let folder: string;
let world: OperatorWorld;
/** Names of cluster roles and of their bindings. */
const stated: string[] = [];

beforeAll(async () => {
	api = await startApi();
	({ account, tokens } = await newAccount());
	folder = await temporaryDirectory("identity");
	await admin.create<Source>(sourceKind, {
		metadata: { name: "shop", namespace: account },
		spec: { type: "Webhook" },
	} as Source);
	await state(new URL(api.url).host);
	await untilStated();
	world = await OperatorWorld.start();
	world.startOperator([account]);
});

afterAll(async () => {
	// Every user of the cluster has the rule.
	for (const name of stated)
		await kubectlDone([
			"delete",
			`clusterrolebinding/${name}`,
			`clusterrole/${name}`,
		]);
	await world?.stop();
	await api?.api.close();
});

afterEach(async () => {
	vi.unstubAllEnvs();
	await removeAll();
});

/** As charts/tidemill/templates/api/address.yaml does. */
async function state(address: string): Promise<void> {
	const name = `api-address-${randomBytes(4).toString("hex")}`;
	stated.push(name);
	await applyYaml(
		account,
		`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: ${name} }
rules:
  - { apiGroups: [tidemill.dev], resources: [apis], resourceNames: ["${address}"], verbs: [use] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: ${name} }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ${name} }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:authenticated" }]
`,
	);
}

async function untilStated(): Promise<void> {
	await vi.waitFor(
		async () => expect(await isApiOf(admin, new URL(api.url))).toBe(true),
		soon,
	);
}

/** The kubeconfig of somebody with a certificate or a token. */
async function configOf(user: string, token?: string): Promise<string> {
	const path = join(folder, `${user}.yaml`);
	const { ca } = inject("pki");
	const pair = await issueCertificate(
		{ name: `CN=${user}` },
		ca,
		Date.now(),
		2,
	);
	const cluster = {
		...{ name: "test", namespace: account, ca: ca.cert },
		server: loadCluster(inject("kubeconfig")).server,
		user: { name: user, ...(token ? { token } : pair) },
	};
	await writeFile(
		path,
		kubeconfig(cluster as Parameters<typeof kubeconfig>[0]),
	);
	return path;
}

/** A person with a certificate and a role in the account. */
async function person(role: string): Promise<{ user: string; path: string }> {
	const user = `${role}-${randomBytes(4).toString("hex")}@example.com`;
	const path = await configOf(user);
	await admin.create<RoleBinding>(kinds.roleBinding, {
		metadata: { name: user, namespace: account },
		roleRef: {
			...{ apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole" },
			name: role,
		},
		subjects: [
			{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user },
		],
	});
	const client = KubeClient.fromConfig(loadKubeConfig(path));
	// The controller puts Tidemill's roles into the built-in ones a moment later.
	await vi.waitFor(() => client.list(sourceKind, { namespace: account }), soon);
	return { user, path };
}

/** What asks the REST API for bodies. */
function bodies(path: string, url = api.url): Promise<Answer> {
	return event(["--body", "--kubeconfig", path], url);
}

function event(options: string[], url = api.url): Promise<Answer> {
	vi.stubEnv("TIDEMILL_API_URL", url);
	return inProcess(
		...["events", "get", "shop", "019cb0c2-7b3c-7f4e-9a51-0d6b2a4f8c11"],
		...options,
	);
}

/** The role of the only binding that commands made for themselves. */
async function ownRole(): Promise<string> {
	const { items } = await admin.list<RoleBinding>(kinds.roleBinding, {
		namespace: account,
	});
	const own = items.filter(({ metadata }) =>
		metadata.name.startsWith("tidemill-token-cli-"),
	);
	expect(own).toHaveLength(1);
	return own[0]!.roleRef.name;
}

/** The names of what commands made for themselves. */
async function left(): Promise<string[]> {
	const own = [kinds.secret, kinds.serviceAccount, kinds.roleBinding] as const;
	const lists = await Promise.all(
		own.map((kind) =>
			admin.list(kind as typeof kinds.secret, { namespace: account }),
		),
	);
	return lists.flatMap(({ items }, index) =>
		items
			.filter(({ metadata }) => metadata.name.startsWith("tidemill-token-cli-"))
			.map(({ metadata }) => `${own[index]!.kind} ${metadata.name}`),
	);
}

async function removeAll(): Promise<void> {
	for (const line of await left()) {
		const [kind, name] = line.split(" ");
		if (kind === "Secret") await admin.delete(kinds.secret, name!, account);
	}
	await vi.waitFor(async () => expect(await left()).toEqual([]), soon);
}

/** The answer of an API that knows who asks, and lets them see bodies: once the Source has its keys, it asks for archive. */
const got = {
	exitCode: 1,
	stderr: expect.stringMatching(
		/The source has no events yet|Archive, which has the stored events, does not answer/,
	),
};

test("a certificate becomes a token of 15 minutes with the editor's role, which goes with it", async () => {
	const { path } = await person("admin");
	expect(await bodies(path)).toMatchObject(got);
	const made = await left();
	expect(made.map((line) => line.split(" ")[0])).toEqual([
		"Secret",
		"ServiceAccount",
		"RoleBinding",
	]);
	const name = made[2]!.split(" ")[1]!;
	const binding = await admin.get<RoleBinding>(
		kinds.roleBinding,
		name,
		account,
	);
	expect(binding!.roleRef.name).toBe("tidemill-editor");
	const lifeMs =
		Date.parse(binding!.metadata.annotations![annotation.tokenExpires]!) -
		Date.parse(binding!.metadata.creationTimestamp!);
	expect(lifeMs).toBeLessThanOrEqual(902_000);
	expect(await bodies(path)).toMatchObject(got);
	expect(await left()).toEqual(made);

	const past = new Date(Date.now() - 1_000).toISOString();
	const annotations = { [annotation.tokenExpires]: past };
	const change = { metadata: { annotations } };
	await admin.patch(kinds.roleBinding, name, account, change, "merge");
	await vi.waitFor(async () => expect(await left()).toEqual([]), soon);
	expect(await bodies(path)).toMatchObject(got);
});

test("commands of one person that start at once share one ServiceAccount", async () => {
	const { path } = await person("admin");
	const config = loadKubeConfig(path);
	const client = KubeClient.fromConfig(config);
	const issuer = { client, config, namespace: account };
	const made = await Promise.all(
		Array.from({ length: 4 }, () => makeOwnToken(issuer, false)),
	);
	expect(await left()).toHaveLength(3);
	for (const { token } of made) {
		const user = await ownUserOf(token);
		expect(user).toContain(
			`system:serviceaccount:${account}:tidemill-token-cli-`,
		);
	}
});

async function ownUserOf(token: string): Promise<string> {
	const { status } = (await admin.raw(
		"POST",
		"/apis/authentication.k8s.io/v1/tokenreviews",
		{
			body: {
				...{ apiVersion: "authentication.k8s.io/v1", kind: "TokenReview" },
				spec: { token },
			},
		},
	)) as { status: { user?: { username: string } } };
	return status.user?.username ?? "nobody";
}

test("a command that outlives its ServiceAccount makes another one", async () => {
	const { path } = await person("admin");
	vi.stubEnv("TIDEMILL_API_URL", api.url);
	const rest = restApi({ kubeconfig: path });
	const list = () => rest.get("/sources");
	await list();
	expect(await left()).toHaveLength(3);
	await removeAll();
	// The apiserver remembers for seconds that the token was valid, and says at first that a right is missing.
	await vi.waitFor(list, soon);
	expect(await left()).toHaveLength(3);
});

test("a kubeconfig's token is sent as it is", async () => {
	expect(await bodies(await configOf("editor", tokens.editor))).toMatchObject(
		got,
	);
	expect(await left()).toEqual([]);
});

test("who may bind no roles is told what an administrator does, and nothing is left", async () => {
	const { path } = await person("edit");
	const { stderr, exitCode } = await bodies(path);
	expect(stderr).toContain(
		`you may not make a token for the REST API in namespace ${account}: `,
	);
	expect(stderr).toMatch(
		/: tidemill tokens create <name> --scope edit -n api-\w+\n$/,
	);
	expect(exitCode).toBe(1);
	await vi.waitFor(async () => expect(await left()).toEqual([]), soon);
});

test("who has the viewer's rights alone gets a token with these, and the editor's as long as they have those", async () => {
	const { path, user } = await person("tidemill-viewer");
	await applyYaml(
		account,
		`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: own-tokens, namespace: ${account} }
rules:
  - { apiGroups: [""], resources: [secrets, serviceaccounts], verbs: [create, get, delete] }
  - { apiGroups: [""], resources: [serviceaccounts/token], verbs: [create] }
  - { apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings], verbs: [create, get, patch, delete] }
`,
	);
	const permit = (kind: string, role: string) =>
		admin.create<RoleBinding>(kinds.roleBinding, {
			metadata: { name: role, namespace: account },
			roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: role },
			subjects: [
				{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user },
			],
		});
	await permit("Role", "own-tokens");
	await vi.waitFor(
		async () => expect(await event(["--kubeconfig", path])).toMatchObject(got),
		soon,
	);
	expect(await ownRole()).toBe("tidemill-viewer");
	const name = user.toLowerCase().replace(/[^a-z0-9]+/g, "-");
	// The person lasts, and the ServiceAccount doesn't.
	expect((await bodies(path)).stderr).toContain(
		`kubectl create rolebinding ${name}-editor --clusterrole=tidemill-editor --user=${user} -n ${account}\n`,
	);
	await permit("ClusterRole", "tidemill-editor");
	await vi.waitFor(
		async () => expect(await bodies(path)).toMatchObject(got),
		soon,
	);
	expect(await ownRole()).toBe("tidemill-editor");
	await admin.delete(kinds.roleBinding, "tidemill-editor", account);
	await vi.waitFor(
		async () => expect((await bodies(path)).stderr).toContain("sources/bodies"),
		soon,
	);
	expect(await ownRole()).toBe("tidemill-viewer");
});

test("an API that the cluster doesn't call its own gets no token, not even an administrator's", async () => {
	const other = await startApi();
	const asked = vi.fn();
	other.api.server.on("request", asked);
	const { path } = await person("admin");
	for (const config of [path, inject("kubeconfig")]) {
		const { stderr, exitCode } = await bodies(config, other.url);
		expect(stderr).toContain(
			`the cluster of the kubeconfig doesn't say that ${new URL(other.url).host} is its own REST API`,
		);
		expect(stderr).toMatch(
			/export TIDEMILL_API_TOKEN="\$\(tidemill tokens create .*\n$/,
		);
		expect(exitCode).toBe(1);
	}
	expect((await bodies(path, "http://tidemill.example")).stderr).toContain(
		"without https:// nothing proves who answers at tidemill.example",
	);
	expect(asked).not.toHaveBeenCalled();
	expect(await left()).toEqual([]);
	await other.api.close();
});

test("each refusal ends with the command that helps", async () => {
	const viewer = await bodies(await configOf("viewer", tokens.viewer));
	expect(viewer.stderr).toContain(
		`kubectl create rolebinding viewer-editor --clusterrole=tidemill-editor --serviceaccount=${account}:viewer -n ${account}\n`,
	);
	const stranger = await configOf("stranger@example.com");
	const list = await inProcess("sources", "list", "--kubeconfig", stranger);
	expect(list.stderr).toContain(
		`kubectl create rolebinding stranger-example-com-viewer --clusterrole=tidemill-viewer --user=stranger@example.com -n ${account}\n`,
	);
	const unknown = await configOf("unknown", "no-token");
	const refused = await inProcess("sources", "list", "--kubeconfig", unknown);
	expect(refused.stderr).toMatch(/: kubectl config get-contexts\n$/);
	vi.stubEnv("TIDEMILL_API_TOKEN", "no-token");
	const stale = await bodies(await configOf("editor", tokens.editor));
	expect(stale.stderr).toMatch(/: unset TIDEMILL_API_TOKEN\n$/);
});
