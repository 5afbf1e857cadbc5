import { expect, test } from "vitest";
import { rightsOf } from "./visitor.ts";

test("wildcards give everything, rights to single objects nothing", () => {
	const all = rightsOf([{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }]);
	expect(all.sources).toContain("delete");
	expect(all["sources/bodies"]).toContain("get");
	expect(all.tokens).toEqual(["get", "list", "create", "delete"]);
	const one = {
		verbs: ["get"],
		apiGroups: ["tidemill.dev"],
		resources: ["sources"],
		resourceNames: ["shop"],
	};
	expect(rightsOf([one]).sources).toEqual([]);
});

test("another group's resource of the same name gives nothing", () => {
	const foreign = {
		verbs: ["*"],
		apiGroups: ["example.com"],
		resources: ["sources", "runs"],
	};
	expect(Object.values(rightsOf([foreign])).flat()).toEqual([]);
});

test("tokens need the rights to make a ServiceAccount, its token and its binding", () => {
	const accounts = {
		verbs: ["create"],
		apiGroups: [""],
		resources: ["serviceaccounts", "serviceaccounts/token"],
	};
	expect(rightsOf([accounts]).tokens).toEqual([]);
	const bindings = {
		verbs: ["create"],
		apiGroups: ["rbac.authorization.k8s.io"],
		resources: ["rolebindings"],
	};
	expect(rightsOf([accounts, bindings]).tokens).toEqual(["create"]);
});
