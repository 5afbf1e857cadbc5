// On a laptop nothing proves this: Helm is built for minutes.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { resolveBinaries } from "../../local/binaries/resolve.ts";
import { chart, examples } from "../support/chart/render.ts";
import { documented } from "../support/examples/documented.ts";
import { runDocumented } from "../support/examples/documented-commands.ts";
import {
	startControlPlane,
	type TestControlPlane,
} from "../support/servers/control-plane.ts";

/*
 * Sources that need the operator to be deleted, and the ways out that docs/troubleshooting.md gives. No operator runs here: it is
 * gone for good.
 */

let cluster: TestControlPlane;
const soon = { timeout: 60_000, interval: 100 };

beforeAll(async () => {
	cluster = await startControlPlane();
	// The chart brings them.
	await cluster.kubectl("delete", "crds", "--all");
	for (const namespace of ["tidemill-system", "green"])
		await cluster.kubectl("create", "namespace", namespace);
});

afterAll(() => cluster?.stop());

beforeEach(async () => {
	for (const namespace of ["shop", "billing"])
		await apply({ kind: "Namespace", name: namespace, apiVersion: "v1" });
	await helm("install", "shop", "billing");
});

test("helm uninstall is refused while a Source needs the operator, and leaves the release as it was", async () => {
	await createSource("shop", "orders");
	await createSource("billing", "invoices");
	const before = await names("tidemill-system");
	await untilValidated("needs the operator");
	const { exitCode, output } = await uninstall();
	expect(exitCode).toBe(1);
	for (const name of ["shop/orders", "billing/invoices"])
		expect(output).toContain(`Source ${name} (deletionPolicy Delete)`);
	expect(output).toContain("kubectl delete source orders --namespace=shop");
	expect(output).toContain("troubleshooting.md");
	expect(await names("tidemill-system")).toEqual(before);
	// A release that is "uninstalling" couldn't be upgraded.
	await helm("upgrade", "shop", "billing");

	for (const [namespace, name] of [
		["shop", "orders"],
		["billing", "invoices"],
	] as const)
		await letGo(namespace, name);
	await untilUninstalled();
});

test("Sources that the operator needn't finish, and those of another installation, hold up nobody", async () => {
	await createSource("shop", "kept", []);
	await createSource("green", "other");
	await untilUninstalled();
	await letGo("green", "other");
});

test("with --no-hooks helm uninstall goes on in any case, and nothing stays", async () => {
	await createSource("shop", "orders");
	const { exitCode, output } = await uninstall("--no-hooks");
	expect(exitCode, output).toBe(0);
	await nothingStays();
	await letGo("shop", "orders");
});

test("where the kinds are gone, uninstalling goes on", async () => {
	await cluster.kubectl("delete", "crd", "sources.tidemill.dev");
	// It still knows the kind.
	await cluster.kill();
	await cluster.start();
	await untilUninstalled();
});

test("an installation that serves all namespaces is uninstalled with a warning", async () => {
	await helm("upgrade", "*");
	await untilValidated("serves all namespaces", false);
	const { exitCode, output } = await uninstall();
	expect(exitCode, output).toBe(0);
	expect(output).toContain("serves all namespaces");
	await nothingStays();
});

test("the documented command closes a URL in the receivers' Deployment, and takes that back", async () => {
	const [close, open] = documented(
		"docs/troubleshooting.md#close-a-url-while-no-operator-runs sh",
	);
	const settings = () =>
		cluster.kubectl(
			...["get", "deployment", "tidemill-receive", "--output=yaml"],
			"--namespace=tidemill-system",
		);
	// No node runs the rollout that it waits for.
	await shell(close!.text.replace(/^kubectl rollout .*$/m, ""));
	expect(await settings()).toMatch(
		/name: TIDEMILL_CLOSED_SOURCES\n\s+value: \w{32}\n/,
	);
	await shell(open!.text);
	expect(await settings()).not.toContain("TIDEMILL_CLOSED_SOURCES");
	await untilUninstalled();
});

test("a namespace that hangs on its Sources goes by the documented commands", async () => {
	await untilUninstalled();
	await createSource("shop", "orders");
	await apply({
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "TrackingPlan",
		name: "plan",
		namespace: "shop",
		finalizers: ["tidemill.dev/in-use"],
		spec: { eventType: { constant: "order" }, events: [] },
	});
	await cluster.kubectl("delete", "namespace", "shop", "--wait=false");
	await vi.waitFor(async () => {
		const why = await cluster.kubectl(
			...["get", "namespace", "shop", "--output=jsonpath={.status.conditions}"],
		);
		for (const name of ["cleanup", "in-use"])
			expect(why).toContain(`tidemill.dev/${name} in 1 resource instances`);
	}, soon);
	const [list, free] = documented("docs/troubleshooting.md#getting-unstuck sh");
	expect(await shell(list!.text)).toMatch(/^shop\s+orders\s/m);
	await shell(free!.text);
	await cluster.kubectl(
		...["wait", "--for=delete", "namespace/shop", "--timeout=60s"],
	);
});

function shell(script: string): Promise<string> {
	return runDocumented(script, cluster.kubeconfig);
}

async function helm(command: string, ...watched: string[]): Promise<void> {
	const { exitCode, output } = await run(
		...[command, "tidemill", chart],
		`--values=${examples.get("own-nats-and-store")}`,
		`--set=operator.watchNamespaces={${watched}}`,
	);
	expect(exitCode, output).toBe(0);
}

function uninstall(...args: string[]) {
	return run("uninstall", "tidemill", ...args);
}

/** The apiserver learns about policies and Sources by watches. */
async function untilValidated(words: string, isDenied = true): Promise<void> {
	const create = `kubectl create configmap tidemill-uninstall --namespace=tidemill-system --dry-run=server 2>&1 || true`;
	await vi.waitFor(async () => {
		const said = await shell(create);
		expect(said).toContain(words);
		// What denies and what warns are two policies' bindings, of which it may still know the former one.
		expect(said.includes("denied request")).toBe(isDenied);
	}, soon);
}

async function untilUninstalled(): Promise<void> {
	await vi.waitFor(async () => {
		const { exitCode, output } = await uninstall();
		expect(exitCode, output).toBe(0);
	}, soon);
	await nothingStays();
}

async function nothingStays(): Promise<void> {
	expect(await names("tidemill-system")).toEqual([]);
	const left = await cluster.kubectl(
		"get",
		"validatingadmissionpolicies,validatingadmissionpolicybindings",
		"--output=name",
	);
	expect(left).not.toContain("uninstall");
}

async function run(...args: string[]) {
	const all = [...args, "--namespace=tidemill-system"];
	const { helm } = await resolveBinaries(["helm"]);
	try {
		const { stdout, stderr } = await promisify(execFile)(helm, [
			...all,
			`--kubeconfig=${cluster.kubeconfig}`,
		]);
		return { exitCode: 0, output: stdout + stderr };
	} catch (error) {
		const { code, stdout, stderr } = error as Record<string, string>;
		return { exitCode: code, output: `${stdout}${stderr}` };
	}
}

/** What a release has in its namespace. */
async function names(namespace: string): Promise<string[]> {
	const text = await cluster.kubectl(
		...["get", "deployments,services,configmaps,serviceaccounts,secrets"],
		...[`--namespace=${namespace}`, "--output=name"],
		"--selector=app.kubernetes.io/managed-by=Helm",
	);
	return text.split("\n").filter(Boolean).sort();
}

async function createSource(
	namespace: string,
	name: string,
	finalizers = ["tidemill.dev/cleanup"],
): Promise<void> {
	await apply({
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Source",
		name,
		namespace,
		finalizers,
		spec: { type: "Webhook", deletionPolicy: "Delete" },
	});
}

/** As the operator does it, at the end of a deletion. */
async function letGo(namespace: string, name: string): Promise<void> {
	await cluster.kubectl(
		...["patch", "source", name, `--namespace=${namespace}`, "--type=merge"],
		'--patch={"metadata":{"finalizers":null}}',
	);
	await cluster.kubectl("delete", "source", name, `--namespace=${namespace}`);
}

async function apply({
	apiVersion,
	kind,
	spec,
	...metadata
}: Record<string, unknown>): Promise<void> {
	const object = { apiVersion, kind, metadata, spec };
	await shell(`kubectl apply --filename=- <<<'${JSON.stringify(object)}'`);
}
