import { join } from "node:path";
import { beforeAll, expect, inject, test, vi } from "vitest";
import { loadCluster } from "../../../packages/kube/client/cluster.ts";
import { tokenClients } from "../../../packages/kube/client/token-clients.ts";
import { rightsOf } from "../../support/chart/operator-rights.ts";
import {
	newAccount,
	tokenOf,
} from "../../support/fixtures/control-plane/api-fixture.ts";
import { kubectlDone } from "../../support/servers/kubectl.ts";

const clientOf = tokenClients(loadCluster(inject("kubeconfig")));
const soon = { timeout: 60_000, interval: 100 };

let account: string;

beforeAll(async () => {
	({ account } = await newAccount());
	const file = join(
		import.meta.dirname,
		"../../../charts/tidemill/files/rbac/rbac.yaml",
	);
	await kubectlDone(["apply", `--filename=${file}`]);
});

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
