import { expect, test } from "vitest";
import { kinds } from "./kinds.ts";
import { ageOf, controllerReference, keyOf, resourcePath } from "./resource.ts";

test.each([
	[resourcePath(kinds.pod), "/api/v1/pods"],
	[resourcePath(kinds.pod, "a"), "/api/v1/namespaces/a/pods"],
	[resourcePath(kinds.pod, "a", "p"), "/api/v1/namespaces/a/pods/p"],
	[
		resourcePath(kinds.pod, "a", "p", "status"),
		"/api/v1/namespaces/a/pods/p/status",
	],
	[
		resourcePath(kinds.job, "a", "../x"),
		"/apis/batch/v1/namespaces/a/jobs/..%2Fx",
	],
	[resourcePath(kinds.node, "a", "n"), "/api/v1/nodes/n"],
])("a resource is served at %s", (path, expected) => {
	expect(path).toBe(expected);
});

test("a key has an empty namespace for a cluster-scoped object", () => {
	expect(keyOf({ metadata: { name: "n" } })).toEqual({
		namespace: "",
		name: "n",
	});
	expect(keyOf({ metadata: { name: "n", namespace: "a" } })).toEqual({
		namespace: "a",
		name: "n",
	});
});

test("objects sort by age, then by name", () => {
	const object = (name: string, creationTimestamp: string) => ({
		metadata: { name, creationTimestamp },
	});
	const sorted = [
		object("b", "2026-03-01T10:00:01Z"),
		object("a", "2026-03-01T10:00:01Z"),
		object("c", "2026-03-01T10:00:00Z"),
	].toSorted((one, other) => (ageOf(one) < ageOf(other) ? -1 : 1));
	expect(sorted.map(({ metadata }) => metadata.name)).toEqual(["c", "a", "b"]);
});

test("a controller reference names the one controller, whose deletion the object blocks", () => {
	expect(
		controllerReference(kinds.job, { metadata: { name: "j", uid: "u" } }),
	).toEqual({
		apiVersion: "batch/v1",
		kind: "Job",
		name: "j",
		uid: "u",
		controller: true,
		blockOwnerDeletion: true,
	});
});
