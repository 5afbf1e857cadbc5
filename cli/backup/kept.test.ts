import { expect, test } from "vitest";
import { manifestOf } from "./kept.ts";
import { merged } from "./needed.ts";

test("a manifest has what people say, and nothing that Tidemill, Kubernetes or kubectl have written for themselves", () => {
	const metadata = { name: "shop", namespace: "a" };
	const own = { "team.example/owner": "x", "not-tidemill.dev/y": "z" };
	const spec = { type: "Webhook" };
	const type = { apiVersion: "tidemill.dev/v1alpha1", kind: "Source" };
	const object = {
		...type,
		metadata: {
			...metadata,
			...{ uid: "u", resourceVersion: "7", generation: 2 },
			creationTimestamp: "2026-11-30T00:00:00Z",
			finalizers: ["tidemill.dev/cleanup"],
			ownerReferences: [
				{ apiVersion: "v1", kind: "Secret", name: "s", uid: "v" },
			],
			managedFields: [{ manager: "kubectl" }],
			labels: { ...own, "tidemill.dev/use": "true", "tidemill.dev/run": "r" },
			annotations: {
				...own,
				"tidemill.dev/rotate-url": "1",
				"kubectl.kubernetes.io/last-applied-configuration": "{}",
			},
		},
		spec,
		status: { webhookURL: "https://receive/hooks/k/u" },
	};
	expect(manifestOf(object)).toEqual({
		...type,
		metadata: {
			...metadata,
			labels: { ...own, "tidemill.dev/use": "true" },
			annotations: own,
		},
		spec,
	});
});

test("what several resources need stands once, with all that need it", () => {
	const secret = { kind: "Secret", namespace: "a", name: "token" } as const;
	const other = { ...secret, namespace: "b", use: "source/x" };
	const needed = [
		other,
		...["source/x", "source/y", "source/x"].map((use) => ({ ...secret, use })),
	];
	expect(merged(needed)).toEqual([
		{ ...secret, use: "source/x, source/y" },
		other,
	]);
	// As a backup and the cluster tell it.
	const more = { ...secret, use: "source/x, source/z" };
	expect(merged([{ ...secret, use: "source/x" }, more])).toEqual([more]);
});
