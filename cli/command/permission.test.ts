import { expect, test } from "vitest";
import { howToPermit, missingRight, roleFor } from "./permission.ts";

test.each([
	["list", "sources", "tidemill.dev", "tidemill-viewer"],
	["get", "sources/events", "tidemill.dev", "tidemill-viewer"],
	["get", "sources/bodies", "tidemill.dev", "tidemill-editor"],
	["erase", "sources/bodies", "tidemill.dev", "tidemill-eraser"],
	["create", "runs", "tidemill.dev", "tidemill-runner"],
	["create", "pipelines", "tidemill.dev", "tidemill-editor"],
	["update", "sources/status", "tidemill.dev", undefined],
	["create", "secrets", "", "tidemill-editor"],
	["get", "secrets", "", undefined],
	["get", "pods/log", "", "tidemill-log-reader"],
	["create", "serviceaccounts/token", "", "tidemill-admin"],
	["list", "namespaces", "", undefined],
])("the role to %s %s of the group %j is %s", (verb, resource, group, role) => {
	expect(roleFor({ verb, resource, group, namespace: "shop" })).toBe(role);
});

test.each([
	[
		'pipelines.tidemill.dev "a" is forbidden: User "Ada O\'Neil" cannot delete resource "pipelines" in API group "tidemill.dev" in the namespace "shop"',
		"Who administers the namespace can permit it: kubectl create rolebinding ada-o-neil-editor --clusterrole=tidemill-editor --user='Ada O'\\''Neil' -n shop",
	],
	[
		'sources.tidemill.dev is forbidden: User "ada" cannot list resource "sources" in API group "tidemill.dev" at the cluster scope',
		"Who administers the cluster can permit it: kubectl create clusterrolebinding ada-viewer --clusterrole=tidemill-viewer --user=ada",
	],
	[
		'secrets is forbidden: User "system:serviceaccount:shop:ci" cannot get resource "secrets" in API group "" in the namespace "shop"',
		"See what you may do, and ask who administers the namespace for the right to get secrets: kubectl auth can-i --list -n shop",
	],
	[
		'This needs the right to get sources/bodies.tidemill.dev in account "shop". (Forbidden)',
		"Who administers the namespace can permit it: kubectl create rolebinding <name>-editor --clusterrole=tidemill-editor --user=<you> -n shop",
	],
])("after %s comes the command that permits it", (message, command) => {
	expect(howToPermit(missingRight(message)!)).toBe(command);
});

test("another refusal names no right", () => {
	expect(missingRight("Another namespace owns this key.")).toBeUndefined();
});
