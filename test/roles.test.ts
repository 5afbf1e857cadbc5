import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { rightsOf } from "./support/chart/operator-rights.ts";
import { permitted } from "./support/chart/role-rights.ts";

const roles = ["roles.yaml", "rbac.yaml"]
	.map((name) =>
		join(import.meta.dirname, "../charts/tidemill/files/rbac", name),
	)
	.flatMap((file) => parseAllDocuments(readFileSync(file, "utf8")))
	.map((document) => document.toJS())
	.filter(({ kind }) => kind === "ClusterRole" || kind === "Role");

test("each shipped role is known", () => {
	const names = roles.map(({ metadata }) => metadata.name);
	expect(names.sort()).toEqual(Object.keys(permitted).sort());
});

test.each(Object.entries(permitted))(
	"%s permits this and nothing else",
	(role, expected) => {
		const [found] = roles.filter(({ metadata }) => metadata.name === role);
		expect(found.aggregationRule).toBeUndefined();
		expect(rightsOf(found.rules)).toEqual([...new Set(expected)].sort());
	},
);

test("of the built-in roles, which others bind, edit and admin take ours for editors, and view takes none", () => {
	const taken = roles.flatMap(({ metadata: { name, labels = {} } }) =>
		Object.keys(labels)
			.filter((label) => label.startsWith("rbac.authorization.k8s.io/"))
			.map((label) => `${name} ${label.split("/")[1]}`),
	);
	expect(taken).toEqual([
		"tidemill-editor aggregate-to-edit",
		"tidemill-editor aggregate-to-admin",
	]);
});
