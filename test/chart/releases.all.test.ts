// On a laptop nothing proves this: Helm is built for minutes.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { resolveBinaries } from "../../local/binaries/resolve.ts";
import { helm } from "../../tools/generate/chart/install-yaml.ts";
import {
	chart,
	examples,
	render,
	renderRelease,
} from "../support/chart/render.ts";
import type { Rendered } from "../support/chart/rendered.ts";
import {
	startControlPlane,
	type TestControlPlane,
} from "../support/servers/control-plane.ts";

/* Several releases in one cluster, and one that comes from an earlier chart. */

/** The kinds and roles that all releases share. */
const withoutShared = ["--set=crds.enabled=false,rbac.createRoles=false"];
const sharedNames =
	/^(CustomResourceDefinition \w+\.tidemill\.dev|(Mutating|Validating)AdmissionPolicy(Binding)? tidemill-crds|ClusterRole tidemill-(viewer|editor|eraser|log-reader|runner|admin)|ValidatingAdmissionPolicy(Binding)? tidemill-(roles|claims))$/;

describe.each<[string, [string, string], [string, string]]>([
	[
		"of one name in two namespaces",
		["tidemill", "blue"],
		["tidemill", "green"],
	],
	["of two names in one namespace", ["blue", "system"], ["green", "system"]],
])("two releases %s", (_, one, other) => {
	test.each([...examples])(
		"with the values of the example %s have nothing in common but the kinds and the roles for people",
		async (_, file) => {
			const args = [
				`--values=${file}`,
				// The names that people choose are theirs to tell apart.
				...["--set=fullnameOverride=", "--set-json=extraObjects=[]"],
			];
			const first = await namesOf(...one, ...args);
			const second = await namesOf(...other, ...args);
			const common = commonNames(first, second);
			expect(common.filter((name) => !sharedNames.test(name))).toEqual([]);
			expect(common).toHaveLength(20);
			const guest = await namesOf(...other, ...args, ...withoutShared);
			expect(commonNames(first, guest)).toEqual([]);
		},
	);
});

const tryOut = `--values=${examples.get("try-out")}`;

test("the roles for people come without the operator's bindings, and these without the roles", async () => {
	const names = async (values: string) =>
		(await render(tryOut, `--set=crds.enabled=false,${values}`))
			.map(nameOf)
			.filter((name) => /^(Cluster)?Role|^Validating/.test(name));
	const roles = await names(
		"rbac.create=false,setup.enabled=false,nats.existingSecret=p",
	);
	expect(roles.filter((name) => !sharedNames.test(name))).toEqual([]);
	expect(roles).toHaveLength(10);
	const own = await names("rbac.createRoles=false");
	expect(own.filter((name) => sharedNames.test(name))).toEqual([]);
	expect(own).toContain("ClusterRole tidemill-system:tidemill-operator");
});

test("each binding of the operator names a role that the release has", async () => {
	const objects = await render(tryOut);
	const roles = objects
		.filter(({ kind }) => /Role$/.test(kind))
		.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
	for (const { roleRef } of objects.filter(({ kind }) => /Binding$/.test(kind)))
		if (roleRef)
			expect(roles).toContain(
				`${(roleRef as { kind?: string }).kind} ${roleRef.name}`,
			);
});

test("the roles for people stay when the release goes, unless told otherwise", async () => {
	const policies = async (...args: string[]) =>
		(await render(tryOut, "--set=crds.enabled=false", ...args))
			.filter((object) => sharedNames.test(nameOf(object)))
			.map(({ metadata }) => metadata.annotations?.["helm.sh/resource-policy"]);
	expect(await policies()).toEqual(Array(10).fill("keep"));
	expect(await policies("--set=rbac.keepRoles=false")).toEqual(
		Array(10).fill(undefined),
	);
});

/** The chart before its cluster-wide names had the release in them. */
const earlier = "c6cfe3f981c9078956b6f3fd85c9b510f18c215c";
const root = join(chart, "../..");
const isInClone = await promisify(execFile)("git", [
	...["-C", root, "cat-file", "-e", `${earlier}^{commit}`],
]).then(
	() => true,
	() => false,
);

describe("on a cluster", () => {
	let cluster: TestControlPlane;
	let directory: string;

	beforeAll(async () => {
		directory = await mkdtemp(join(tmpdir(), "releases-"));
		cluster = await startControlPlane();
		// The chart brings them.
		await cluster.kubectl("delete", "crds", "--all");
		for (const namespace of ["blue", "green", "shop", "billing"])
			await cluster.kubectl("create", "namespace", namespace);
	});

	afterAll(async () => {
		await cluster?.stop();
		await rm(directory, { recursive: true });
	});

	test.skipIf(!isInClone)(
		"a release of the earlier chart is upgraded, and neither a kind nor a role for people is deleted",
		async () => {
			await promisify(execFile)("bash", [
				"-c",
				`git -C "${root}" archive ${earlier} charts/tidemill | tar --extract --directory="${directory}"`,
			]);
			const old = join(directory, "charts/tidemill");
			// Its schema refuses values that came later.
			const ownValues = "examples/own-nats-and-store.yaml";
			await run(
				...([
					"install",
					"blue",
					old,
					`--values=${join(old, ownValues)}`,
				] as const),
				"--set=operator.watchNamespaces={shop}",
			);
			const before = await uidsOf(sharedNames);
			expect(before).toHaveLength(11);
			expect(await uidsOf(/ tidemill-operator/)).toHaveLength(4);
			await run("upgrade", "blue", chart, ...values("shop"));
			expect(await uidsOf(sharedNames)).toEqual(expect.arrayContaining(before));
			expect(await uidsOf(/ tidemill-operator/)).toEqual([]);
			expect(await uidsOf(/ blue:tidemill-operator/)).toHaveLength(4);
			expect(
				await cluster.kubectl(
					...["get", "rolebindings", "--namespace=shop", "--output=name"],
				),
			).toBe(
				"rolebinding.rbac.authorization.k8s.io/blue:tidemill-operator-in-namespace\n",
			);
			await run("uninstall", "blue");
			await cluster.kubectl(...["delete", shared.join(), partOf]);
		},
	);

	test("two releases of one name are installed side by side, and what they share survives the first one", async () => {
		await install("blue", chart, "shop");
		await expect(install("green", chart, "billing")).rejects.toThrow(
			/invalid ownership metadata.*release-namespace/s,
		);
		await install("green", chart, "billing", ...withoutShared);
		const before = await uidsOf(sharedNames);
		expect(before).toHaveLength(20);
		const own = await uidsOf(/ green:/);
		expect(own).toHaveLength(4);
		await run("uninstall", "blue");
		expect(await uidsOf(sharedNames)).toEqual(before);
		expect(await uidsOf(/ green:/)).toEqual(own);
		expect(await uidsOf(/ blue:/)).toEqual([]);
	});

	test("a setup that fails leaves nothing but the Secrets, and neither does one whose Helm is killed, once it is uninstalled", async () => {
		await cluster.kubectl("delete", shared.join(), partOf);
		const left = async () => {
			const names = await cluster.kubectl(
				...["get", "--namespace=tide", "--output=name"],
				"jobs,pods,roles,rolebindings,serviceaccounts,secrets",
			);
			return names
				.split("\n")
				.filter((name) => /setup|seal-key/.test(name))
				.map((name) => name.replace(/-[0-9a-f]{8}(-\w+)?$/, ""))
				.sort();
		};
		const install = [
			...["install", "tidemill", chart, "--namespace=tide"],
			...[`--values=${examples.get("try-out")}`, "--timeout=5s"],
			`--kubeconfig=${cluster.kubeconfig}`,
		];
		const kept = "secret/tidemill-seal-key";
		await cluster.kubectl("create", "namespace", "tide");
		await cluster.kubectl(
			...["create", "secret", "generic", "tidemill-seal-key"],
			"--namespace=tide",
		);
		// No node runs its Pod.
		await expect(helm(...install)).rejects.toThrow(/pre-install/);
		await vi.waitFor(async () => expect(await left()).toEqual([kept]), soon);
		await uninstall("tide");
		expect(await left()).toEqual([kept]);

		const { helm: command } = await resolveBinaries(["helm"]);
		const killed = spawn(command, [...install, "--timeout=5m"], {
			stdio: "ignore",
		});
		await vi.waitFor(
			async () =>
				expect(await left()).toEqual(
					[
						"job.batch/tidemill-setup",
						"pod/tidemill-setup",
						"role.rbac.authorization.k8s.io/tidemill-setup",
						"rolebinding.rbac.authorization.k8s.io/tidemill-setup",
						"serviceaccount/tidemill-setup",
						kept,
					].toSorted(),
				),
			soon,
		);
		killed.kill("SIGKILL");
		await once(killed, "exit");
		await uninstall("tide");
		// Nobody but Kubernetes removes the Job then, by its deadlines.
		expect(await left()).toEqual([
			"job.batch/tidemill-setup",
			"pod/tidemill-setup",
			kept,
		]);
	});

	function uninstall(namespace: string): Promise<void> {
		return run("uninstall", namespace, "--timeout=20s");
	}

	/** With Secrets of one's own, since nothing here runs the Job that creates them. */
	const values = (watched: string) => [
		`--values=${examples.get("own-nats-and-store")}`,
		`--set=operator.watchNamespaces={${watched}}`,
	];

	function install(
		namespace: string,
		from: string,
		watched: string,
		...args: string[]
	): Promise<void> {
		return run("install", namespace, from, ...values(watched), ...args);
	}

	async function run(
		command: string,
		namespace: string,
		...args: string[]
	): Promise<void> {
		await helm(
			...[command, "tidemill", ...args, `--namespace=${namespace}`],
			`--kubeconfig=${cluster.kubeconfig}`,
		);
	}

	/** `<kind> <name> <uid>` of what the whole cluster has, for names of this form. */
	async function uidsOf(form: RegExp): Promise<string[]> {
		const kinds = [...shared, "clusterrolebindings"].join();
		const text = await cluster.kubectl("get", kinds, partOf, "--output=json");
		const { items } = JSON.parse(text) as { items: Rendered[] };
		return items
			.filter((object) => form.test(nameOf(object)))
			.map((object) => `${nameOf(object)} ${object.metadata.uid}`)
			.sort();
	}
});

const soon = { timeout: 60_000, interval: 100 };
const partOf = "--selector=app.kubernetes.io/part-of=tidemill";
const shared = [
	"clusterroles,crds",
	"validatingadmissionpolicies,validatingadmissionpolicybindings",
	"mutatingadmissionpolicies,mutatingadmissionpolicybindings",
];

async function namesOf(
	...release: Parameters<typeof renderRelease>
): Promise<string[]> {
	return (await renderRelease(...release)).map(nameOf);
}

function nameOf({ kind, metadata: { namespace, name } }: Rendered): string {
	return `${kind} ${namespace ? `${namespace}/` : ""}${name}`;
}

function commonNames(some: string[], others: string[]): string[] {
	return some.filter((name) => others.includes(name));
}
