// In make test: test/control-plane/crds.laptop.test.ts
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parse, stringify } from "yaml";
import { crdFiles } from "../../local/servers/resources.ts";
import { documentedText } from "../support/examples/documented.ts";
import { runDocumented } from "../support/examples/documented-commands.ts";
import { readManifests } from "../support/manifests/manifest.ts";
import {
	startControlPlane,
	type TestControlPlane,
} from "../support/servers/control-plane.ts";

/*
 * From the definitions of 0.1.0, which test/support/manifests/0.1.0 keeps, to today's, and on by the steps of
 * docs/api-versions.md. Each test goes on where the one before it has ended.
 */

const root = join(import.meta.dirname, "../..");
/** With a name each, since `kubectl apply` generates none. */
const manifests = [
	...readManifests("0.1.0/accepted.yaml").map((manifest, i) => ({
		...manifest,
		metadata: { name: manifest.metadata.name ?? `generated-${i}` },
	})),
	// What today's rules refuse stays as it is where it is stored (KEP-4008: ratcheting).
	{
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Pipeline",
		metadata: { name: "former" },
		spec: {
			sourceRef: { name: "shop" },
			destinationRef: { name: "warehouse" },
			table: { name: "_tidemill_loads" },
		},
	},
];
const kinds = "destinations,operations,pipelines,runs,sources,trackingplans";

let controlPlane: TestControlPlane;
let folder: string;
/** As they were under the definitions of 0.1.0. */
let before: Stored[];
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), "tidemill-crds-"));
	const definitions = join(folder, "definitions.yaml");
	await writeFile(definitions, stringify(definitionsOf010()));
	controlPlane = await startControlPlane({ crds: [definitions] });
	await kubectl("create", "namespace", "shop");
	await apply("manifests.yaml", manifests, "--namespace=shop");
	await Promise.all(
		manifests.map(({ kind, metadata }) =>
			kubectl(
				...["patch", `${kind}.tidemill.dev`, metadata.name],
				...["--namespace=shop", "--subresource=status", "--type=merge"],
				`--patch=${JSON.stringify({ status })}`,
			),
		),
	);
	before = await stored();
});
afterAll(async () => {
	await controlPlane?.stop();
	await rm(folder, { recursive: true, force: true });
});

const status = {
	observedGeneration: 1,
	conditions: [
		{
			type: "Ready",
			status: "True",
			reason: "Ready",
			message: "It was ready before the upgrade.",
			lastTransitionTime: "2026-01-01T00:00:00Z",
		},
	],
};

/** What 0.1.0 stored of each kind's spec, and of a status what this test writes. */
function definitionsOf010() {
	const file = join(root, "test/support/manifests/0.1.0/definitions.yaml");
	const specs: Record<string, object> = parse(readFileSync(file, "utf8"));
	const schema = (properties: object) => ({ type: "object", properties });
	const texts = ["type", "status", "reason", "message", "lastTransitionTime"];
	const condition = schema(
		Object.fromEntries(texts.map((name) => [name, { type: "string" }])),
	);
	const ofStatus = schema({
		observedGeneration: { type: "integer" },
		conditions: {
			type: "array",
			"x-kubernetes-list-type": "map",
			"x-kubernetes-list-map-keys": ["type"],
			items: { ...condition, required: ["type"] },
		},
	});
	const items = Object.entries(specs).map(([kind, spec]) => {
		const singular = kind.toLowerCase();
		const plural = `${singular}s`;
		const openAPIV3Schema = schema({ spec, status: ofStatus });
		const version = { name: "v1alpha1", served: true, storage: true };
		return {
			apiVersion: "apiextensions.k8s.io/v1",
			kind: "CustomResourceDefinition",
			metadata: { name: `${plural}.tidemill.dev` },
			spec: {
				group: "tidemill.dev",
				scope: "Namespaced",
				names: { kind, listKind: `${kind}List`, plural, singular },
				versions: [
					{
						...version,
						subresources: { status: {} },
						schema: { openAPIV3Schema },
					},
				],
			},
		};
	});
	return { apiVersion: "v1", kind: "List", items };
}

const kubectl = (...args: string[]) => controlPlane.kubectl(...args);

async function apply(
	name: string,
	objects: object[],
	...args: string[]
): Promise<void> {
	const file = join(folder, name);
	await writeFile(file, objects.map((each) => stringify(each)).join("---\n"));
	await kubectl(
		...["apply", "--server-side", "--force-conflicts"],
		...[`--filename=${file}`, ...args],
	);
}

interface Stored {
	apiVersion: string;
	kind: string;
	metadata: { name: string; uid: string; generation: number };
	spec: object;
	status: object;
}

async function stored(version = "v1alpha1"): Promise<Stored[]> {
	const names = kinds.replaceAll(/(?=,|$)/g, `.${version}.tidemill.dev`);
	const text = await kubectl(
		...["get", names, "--all-namespaces", "--output=json"],
	);
	return JSON.parse(text).items;
}

/** Nothing is lost of any object; a definition may add a default. */
async function expectAllAsBefore(version: string): Promise<void> {
	const now = await stored(version);
	expect(now).toHaveLength(before.length);
	for (const old of before) {
		const { uid } = old.metadata;
		const found = now.find(({ metadata }) => metadata.uid === uid);
		expect(found, `${old.kind} ${old.metadata.name}`).toMatchObject({
			apiVersion: `tidemill.dev/${version}`,
			kind: old.kind,
			spec: old.spec,
			status: old.status,
			metadata: { name: old.metadata.name },
		});
	}
}

/** An editor saves each object as it is: no rule refuses it, and no field is unknown. */
async function expectAllValid(version: string): Promise<void> {
	const file = join(folder, "saved.json");
	const items = await stored(version);
	await writeFile(
		file,
		JSON.stringify({ apiVersion: "v1", kind: "List", items }),
	);
	const saved = await kubectl(
		...["replace", "--dry-run=server", "--validate=strict"],
		...[`--filename=${file}`, "--output=name"],
	);
	expect(saved.trim().split("\n")).toHaveLength(before.length);
}

async function storedVersions(): Promise<string[][]> {
	const text = await kubectl("get", "customresourcedefinitions", "-o=json");
	return JSON.parse(text).items.map(
		(crd: { status: { storedVersions: string[] } }) =>
			crd.status.storedVersions,
	);
}

interface Definition {
	metadata: { name: string };
	spec: { versions: { name: string; storage: boolean }[] };
}

async function today(): Promise<Definition[]> {
	return (await crdFiles()).map((file) => parse(readFileSync(file, "utf8")));
}

/** The definitions of a release to come, whose versions are made of today's only one. */
async function release(
	versionsOf: (version: object) => object[],
): Promise<Definition[]> {
	return (await today()).map((crd) => ({
		...crd,
		spec: {
			...crd.spec,
			versions: versionsOf(crd.spec.versions[0]!) as never,
		},
	}));
}

test("the fixture has every kind", () => {
	expect(new Set(before.map(({ kind }) => kind)).size).toBe(6);
	expect(before).toHaveLength(manifests.length);
});

test("what was created under the definitions of 0.1.0 survives today's, and is still valid", async () => {
	await apply("today.yaml", await today());
	await vi.waitFor(() => expectAllAsBefore("v1alpha1"), 30_000);
	await expectAllValid("v1alpha1");
	const generations = (all: Stored[]) =>
		all.map(({ metadata }) => [metadata.name, metadata.generation]);
	expect(generations(await stored())).toEqual(generations(before));
	expect(await storedVersions()).toEqual(Array(6).fill(["v1alpha1"]));
	// Whoever applies the manifests of then again is not refused either.
	await apply("manifests.yaml", manifests, "--namespace=shop");
});

test("a release with v1beta1 serves every object in both versions", async () => {
	const both = await release((version) => [
		{ ...version, name: "v1beta1", storage: true },
		{ ...version, storage: false, deprecated: true },
	]);
	await apply("both.yaml", both);
	await vi.waitFor(() => expectAllAsBefore("v1beta1"), 30_000);
	await expectAllAsBefore("v1alpha1");
	await expectAllValid("v1beta1");
	expect(await storedVersions()).toEqual(
		Array(6).fill(["v1alpha1", "v1beta1"]),
	);
	// As `helm rollback` would.
	await expect(apply("today.yaml", await today())).rejects.toThrow(
		"missing from spec.versions",
	);
});

test("the release without v1alpha1 is refused until its objects are stored anew by the commands of the documentation", async () => {
	const only = await release((version) => [{ ...version, name: "v1beta1" }]);
	const page = readFileSync(join(root, "docs/api-versions.md"), "utf8");
	const refusal = /`(status\.storedVersions\[0\]: [^`]*)`/.exec(page)![1]!;
	await expect(apply("only.yaml", only)).rejects.toThrow(refusal);
	await runDocumented(
		documentedText("docs/api-versions.md#what-you-do sh"),
		controlPlane.kubeconfig,
	);
	expect(await storedVersions()).toEqual(Array(6).fill(["v1beta1"]));
	await apply("only.yaml", only);
	await vi.waitFor(async () => {
		const versions = await kubectl("get", "--raw=/apis/tidemill.dev");
		expect(versions).not.toContain("v1alpha1");
	});
	await expectAllAsBefore("v1beta1");
	await expectAllValid("v1beta1");
});
