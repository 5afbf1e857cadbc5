import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { PolicyRule } from "../../packages/kube/client/self-review.ts";
import {
	lackMessage,
	missingPermissions,
	namespaceRules,
	neededPermissions,
} from "./permission-rules.ts";

const role = "tidemill-operator-in-namespace";
const user = "system:serviceaccount:tidemill-system:tidemill-operator";

const without = (resource: string, verb: string): PolicyRule[] =>
	namespaceRules.map((rule) =>
		rule.resources.includes(resource)
			? { ...rule, verbs: rule.verbs.filter((each) => each !== verb) }
			: rule,
	);

test("the operator needs exactly what its ClusterRole for a namespace allows", async () => {
	const file = join(
		import.meta.dirname,
		"../../charts/tidemill/files/rbac/rbac.yaml",
	);
	const documents = parseAllDocuments(await readFile(file, "utf8"));
	const found = documents
		.map(
			(each) => each.toJS() as { metadata: { name: string }; rules: unknown },
		)
		.find(({ metadata }) => metadata.name === role);
	expect(found?.rules).toEqual(namespaceRules);
});

test.each<[string, PolicyRule[], string[]]>([
	["the role's own rules", namespaceRules, []],
	[
		"an administrator's",
		[{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
		[],
	],
	["a role that lacks a verb", without("jobs", "create"), ["create jobs"]],
	[
		"a rule for one Secret alone",
		[
			...without("secrets", "delete"),
			{
				verbs: ["delete"],
				apiGroups: [""],
				resources: ["secrets"],
				resourceNames: ["one"],
			},
		],
		["delete secrets"],
	],
])("of %s, the missing permissions are found", (_, granted, missing) => {
	expect(
		missingPermissions(granted).map(
			({ verb, resource }) => `${verb} ${resource}`,
		),
	).toEqual(missing);
});

test("no rules at all miss everything", () => {
	expect(missingPermissions([])).toEqual(neededPermissions);
});

test.each([
	[
		"without a binding, the message has the rules and the command",
		{ missing: neededPermissions, namespace: "shop", user, role },
		[
			'may not in namespace "shop": get, list, watch, create, patch, delete jobs.batch; get, list, watch pods;',
			`kubectl create rolebinding ${role} --clusterrole=${role} --serviceaccount=tidemill-system:tidemill-operator --namespace=shop --dry-run=client --output=yaml | kubectl auth reconcile --filename=-`,
		],
	],
	[
		"a user who is no ServiceAccount is named by --user",
		{ missing: neededPermissions, namespace: "shop", user: "tide", role },
		["--user=tide --namespace=shop"],
	],
	[
		"without a binding for all namespaces, the command makes that",
		{ missing: neededPermissions, namespace: undefined, user, role },
		["in all namespaces", `kubectl create clusterrolebinding ${role} `],
	],
	[
		"with a role that lacks a rule, the message sends to the role",
		{
			missing: [{ verb: "create", apiGroup: "batch", resource: "jobs" }],
			namespace: "shop",
			user,
			role,
		},
		[
			'may not in namespace "shop": create jobs.batch.',
			`kubectl get clusterrole ${role} --output=yaml`,
		],
	],
])("%s", (_, lack, parts) => {
	const message = lackMessage(lack);
	for (const part of parts) expect(message).toContain(part);
});
