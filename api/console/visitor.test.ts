import { expect, test } from "vitest";
import { namespacesOf, rightsIn } from "./visitor.ts";

/** What the console learns of an apiserver that has these rules. */
function rightsOf(resourceRules: object[]) {
	const client = { raw: async () => ({ status: { resourceRules } }) };
	return rightsIn(client, "shop");
}

test("wildcards give everything, rights to single objects nothing", async () => {
	const all = await rightsOf([
		{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
	]);
	expect(all.sources).toContain("delete");
	expect(all["sources/bodies"]).toContain("get");
	expect(all.tokens).toEqual(["get", "list", "create", "delete"]);
	const one = {
		verbs: ["get"],
		apiGroups: ["tidemill.dev"],
		resources: ["sources"],
		resourceNames: ["shop"],
	};
	expect((await rightsOf([one])).sources).toEqual([]);
});

test("another group's resource of the same name gives nothing", async () => {
	const foreign = {
		verbs: ["*"],
		apiGroups: ["example.com"],
		resources: ["sources", "runs"],
	};
	expect(Object.values(await rightsOf([foreign])).flat()).toEqual([]);
});

test("tokens need the rights to make a ServiceAccount, its token and its binding", async () => {
	const accounts = {
		verbs: ["create"],
		apiGroups: [""],
		resources: ["serviceaccounts", "serviceaccounts/token"],
	};
	expect((await rightsOf([accounts])).tokens).toEqual([]);
	const bindings = {
		verbs: ["create"],
		apiGroups: ["rbac.authorization.k8s.io"],
		resources: ["rolebindings"],
	};
	expect((await rightsOf([accounts, bindings])).tokens).toEqual(["create"]);
});

test("a namespace that isn't there is none of those to choose, unless there are more than a page of them", async () => {
	const listOf = (next: string | undefined) => ({
		list: async () => ({
			items: [{ metadata: { name: "shop" } }],
			metadata: { continue: next },
		}),
	});
	const namesOf = (next: string | undefined) =>
		namespacesOf(listOf(next) as never, "nowhere");
	expect(await namesOf(undefined)).toEqual(["shop"]);
	expect(await namesOf("a-cursor")).toEqual(["nowhere", "shop"]);
});
