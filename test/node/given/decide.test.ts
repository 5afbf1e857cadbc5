import { expect, test } from "vitest";
import { type GivenCluster, imageStart, reasonAgainst } from "./decide.ts";
import { imageValues } from "./image.ts";

const named = (name: string, labels = {}) => ({ metadata: { name, labels } });
/** A Deployment of the chart. */
const operatorIn = (namespace: string) => ({
	metadata: {
		name: "tidemill-operator",
		namespace,
		labels: { "app.kubernetes.io/part-of": "tidemill" },
	},
});
const standard = {
	metadata: {
		name: "standard",
		annotations: { "storageclass.kubernetes.io/is-default-class": "true" },
	},
};
const empty: GivenCluster = {
	namespaces: [named("default")],
	customResourceDefinitions: [named("gateways.gateway.networking.k8s.io")],
	storageClasses: [standard],
	deployments: [{ metadata: { name: "coredns", namespace: "kube-system" } }],
};
const crd = named("sources.tidemill.dev");

test.each<[string, Partial<GivenCluster>, RegExp | undefined]>([
	["is empty", {}, undefined],
	[
		"has what an earlier run of the tests has left",
		{
			namespaces: [named("shop", { "tidemill.dev/e2e": "true" })],
			customResourceDefinitions: [crd],
			deployments: [operatorIn("tidemill-system")],
		},
		undefined,
	],
	[
		"has an installation in another namespace beside what an earlier run has left",
		{
			namespaces: [named("shop", { "tidemill.dev/e2e": "true" })],
			customResourceDefinitions: [crd],
			deployments: [operatorIn("tidemill-system"), operatorIn("prod")],
		},
		/^Tidemill is installed in its namespace prod, .*Use a cluster without Tidemill\.$/,
	],
	[
		"has somebody's installation",
		{ namespaces: [named("tidemill-system")] },
		/^it has the namespace tidemill-system, .*kubectl label namespace tidemill-system tidemill.dev\/e2e=true$/,
	],
	[
		"has an account that isn't the tests'",
		{ namespaces: [named("shop", { "tidemill.dev/e2e": "" })] },
		/^it has the namespace shop/,
	],
	[
		"has an installation in another namespace",
		{ customResourceDefinitions: [crd] },
		/^Tidemill is installed in it/,
	],
	[
		"has no default StorageClass",
		{ storageClasses: [named("standard")] },
		/^it has no default StorageClass.*kubectl annotate storageclass/,
	],
])("a cluster that %s", (_, change, reason) => {
	const answer = reasonAgainst({ ...empty, ...change });
	if (reason) expect(answer).toMatch(reason);
	else expect(answer).toBeUndefined();
});

const waiting = (reason: string) => ({
	status: {
		phase: "Pending",
		containerStatuses: [{ state: { waiting: { reason, message: "no host" } } }],
	},
});

test("a Pod says whether its image starts, and what to do if it can't", () => {
	const image = "ghcr.io/tidemill/tidemill:e2e";
	const of = (pod: Parameters<typeof imageStart>[0]) => imageStart(pod, image);
	expect(of({ status: {} })).toBeUndefined();
	expect(of(waiting("ContainerCreating"))).toBeUndefined();
	expect(of({ status: { phase: "Succeeded" } })).toBe("started");
	expect(of({ status: { phase: "Failed" } })).toMatchObject({
		problem: expect.stringContaining("make image"),
	});
	for (const reason of ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])
		expect(of(waiting(reason))).toMatchObject({
			problem: expect.stringMatching(
				new RegExp(
					`can't get the image ${image} \\(${reason}: no host\\).*TIDEMILL_E2E_IMAGE`,
				),
			),
		});
});

test.each([
	["ghcr.io/tidemill/tidemill:e2e", ["ghcr.io", "tidemill/tidemill", "e2e"]],
	["localhost:5000/tidemill:v1", ["localhost:5000", "tidemill", "v1"]],
])("%s is a name for the chart", (name, [registry, repository, tag]) => {
	expect(imageValues(name)).toEqual({ registry, repository, tag });
});

test.each(["tidemill:dev", "ghcr.io/tidemill/tidemill", "tidemill"])(
	"%s is no whole name",
	(name) => expect(() => imageValues(name)).toThrow(/registry.example.com/),
);
