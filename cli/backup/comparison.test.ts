import { expect, test } from "vitest";
import { compared } from "./comparison.ts";
import type { BackedUpObject } from "./kept.ts";

const source = (name: string, spec: object): BackedUpObject => ({
	apiVersion: "tidemill.dev/v1alpha1",
	kind: "Source",
	metadata: { name, namespace: "shop" },
	spec,
});

test("what a backup lacks and what a restore would change is told by resource and field", () => {
	const live = [
		source("same", { a: { b: [1] } }),
		source("changed", { a: { b: [1, 2], c: 1 }, d: 1 }),
		source("new", {}),
	];
	const backup = [
		source("gone", {}),
		source("changed", { a: { b: [1], c: 1 }, e: 1 }),
		source("same", { a: { b: [1] } }),
	];
	const said = compared(live, backup).map(({ name, state, fields }) => [
		name,
		state,
		...fields,
	]);
	expect(said).toEqual([
		["gone", "OnlyInBackup"],
		["changed", "Changed", "spec.a.b", "spec.d", "spec.e"],
		["same", "Same"],
		["new", "OnlyInCluster"],
	]);
});

test("resources of one name in two namespaces or of two kinds are different ones", () => {
	const one = source("x", {});
	const others = [
		{ ...one, kind: "Pipeline" },
		{ ...one, metadata: { name: "x", namespace: "bank" } },
	];
	expect(compared([one], others).map(({ state }) => state)).toEqual([
		"OnlyInBackup",
		"OnlyInBackup",
		"OnlyInCluster",
	]);
});
