import { expect, test } from "vitest";
import { heldRights } from "./rights.ts";

const asked = [
	{ verb: "list", resource: "sources" },
	{ verb: "watch", resource: "sources" },
	{ verb: "get", resource: "sources/bodies" },
	{ verb: "create", resource: "serviceaccounts", group: "" },
];

/** An apiserver with these rules, which allows each right of `allowed` when it is asked about it alone. */
function client(status: object, allowed: string[] = []) {
	const questions: string[] = [];
	return {
		questions,
		raw: async (_: string, path: string, options?: { body?: unknown }) => {
			questions.push(path.slice(path.lastIndexOf("/") + 1));
			if (path.endsWith("rulesreviews")) return { status };
			const { resourceAttributes: attributes } = (
				options!.body as {
					spec: { resourceAttributes: Record<string, string> };
				}
			).spec;
			const { verb, resource, subresource = "", group } = attributes;
			const right = `${verb} ${group}/${resource}/${subresource}`;
			return { status: { allowed: allowed.includes(right) } };
		},
	};
}

const rule = (verbs: string[], resources: string[], more = {}) => ({
	verbs,
	apiGroups: ["tidemill.dev"],
	resources,
	...more,
});

test.each([
	["a role's rule", [rule(["get", "list"], ["sources"])], ["list sources"]],
	["all verbs", [rule(["*"], ["sources"])], ["list sources", "watch sources"]],
	["another group", [rule(["*"], ["*"], { apiGroups: ["apps"] })], []],
	["one object", [rule(["*"], ["*"], { resourceNames: ["shop"] })], []],
	["a subresource", [rule(["get"], ["*/bodies"])], ["get sources/bodies"]],
	[
		"everything",
		[rule(["*"], ["*"], { apiGroups: ["*"] })],
		asked.map(({ verb, resource }) => `${verb} ${resource}`),
	],
])("by one question, %s gives what it says", async (_, resourceRules, held) => {
	const apiserver = client({ resourceRules, incomplete: false });
	const rights = await heldRights(apiserver, "shop", asked);
	expect(rights.map(({ verb, resource }) => `${verb} ${resource}`)).toEqual(
		held,
	);
	expect(apiserver.questions).toEqual(["selfsubjectrulesreviews"]);
});

test("where a webhook decides, the apiserver is asked about each right, also those that rules give", async () => {
	const resourceRules = [rule(["*"], ["*"])];
	const apiserver = client({ resourceRules, incomplete: true }, [
		"get tidemill.dev/sources/bodies",
		"create /serviceaccounts/",
	]);
	const rights = await heldRights(apiserver, "shop", asked);
	expect(rights.map(({ resource }) => resource)).toEqual([
		"sources/bodies",
		"serviceaccounts",
	]);
});
