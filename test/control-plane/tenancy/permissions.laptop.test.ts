import { join } from "node:path";
import { beforeAll, expect, inject, test, vi } from "vitest";
import { loadCluster } from "../../../packages/kube/client/cluster.ts";
import { tokenClients } from "../../../packages/kube/client/token-clients.ts";
import {
	operatorRights,
	rights,
	rightsOf,
} from "../../support/chart/operator-rights.ts";
import {
	newAccount,
	tokenOf,
} from "../../support/fixtures/control-plane/api-fixture.ts";
import { kubectlDone } from "../../support/servers/kubectl.ts";

/* All that each shipped role permits. A line more here is a line to argue for. */

const clientOf = tokenClients(loadCluster(inject("kubeconfig")));
const soon = { timeout: 60_000, interval: 100 };

let account: string;
let everybody: string[];

beforeAll(async () => {
	const made = await newAccount();
	account = made.account;
	const file = join(
		import.meta.dirname,
		"../../../charts/tidemill/files/rbac/rbac.yaml",
	);
	await kubectlDone(["apply", `--filename=${file}`]);
	everybody = await permissionsOf(made.tokens.nobody);
});

const kindsOf = "destinations operations pipelines runs sources trackingplans";

const permitted: Record<string, string[]> = {
	"tidemill-viewer": [
		...rights("tidemill.dev", kindsOf, "get list watch"),
		...rights("tidemill.dev", "sources/events", "get"),
	],
	"tidemill-editor": [
		...rights(
			"tidemill.dev",
			kindsOf,
			"create delete get list patch update watch",
		),
		...rights("tidemill.dev", "sources/events sources/bodies", "get"),
		...rights("", "secrets", "create"),
	],
	"tidemill-runner": [
		...rights("tidemill.dev", "runs", "create get list patch watch"),
		...rights("tidemill.dev", "pipelines", "get list watch"),
	],
	"tidemill-eraser": [
		...rights("tidemill.dev", "operations", "create get list patch watch"),
		...rights("tidemill.dev", "sources pipelines runs", "get list watch"),
		...rights("tidemill.dev", "sources/bodies", "erase"),
	],
	"tidemill-log-reader": [
		...rights("", "pods", "get list"),
		...rights("", "pods/log", "get"),
	],
	"tidemill-admin": [
		...rights("tidemill.dev", "tokens", "create"),
		...rights("", "serviceaccounts", "create delete get"),
		...rights("", "serviceaccounts/token", "create"),
		...rights(
			"rbac.authorization.k8s.io",
			"rolebindings",
			"create delete get list",
		),
		"rbac.authorization.k8s.io/clusterroles: bind by name",
	],
	"tidemill-operator": operatorRights.everywhere,
	"tidemill-operator-in-namespace": operatorRights.inNamespace,
	"tidemill-operator-lease": operatorRights.lease,
};

test.each(Object.entries(permitted))(
	"%s permits this and nothing else",
	async (role, expected) => {
		const name = `only-${role}`;
		const token = await tokenOf(account, name);
		await kubectlDone([
			...["create", "rolebinding", name, `--clusterrole=${role}`],
			...[`--serviceaccount=${account}:${name}`, `--namespace=${account}`],
		]);
		await vi.waitFor(
			async () =>
				expect(await permissionsOf(token)).toEqual(
					[...new Set([...everybody, ...expected])].sort(),
				),
			soon,
		);
	},
);

test("none of our roles is part of the built-in role view", async () => {
	const token = await tokenOf(account, "built-in");
	await kubectlDone([
		...["create", "rolebinding", "built-in", "--clusterrole=view"],
		...[`--serviceaccount=${account}:built-in`, `--namespace=${account}`],
	]);
	await vi.waitFor(
		async () =>
			expect(await permissionsOf(token)).toContain("/configmaps: get"),
		soon,
	);
	expect(
		(await permissionsOf(token)).filter((line) => line.includes("tidemill")),
	).toEqual([]);
});

/** What `kubectl auth can-i --list` lists, one permission a line. */
async function permissionsOf(token: string): Promise<string[]> {
	const { status } = (await clientOf(token).raw(
		"POST",
		"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
		{
			body: {
				apiVersion: "authorization.k8s.io/v1",
				kind: "SelfSubjectRulesReview",
				spec: { namespace: account },
			},
		},
	)) as { status: { resourceRules: Parameters<typeof rightsOf>[0] } };
	return rightsOf(status.resourceRules);
}
