// On a laptop nothing proves this: Helm is built for minutes.
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
// yaml: reads YAML 1.2 to the letter.
import { parse, stringify } from "yaml";
import { helm } from "../../tools/generate/chart/install-yaml.ts";
import { chart, examples, render } from "../support/chart/render.ts";
import { documentedText } from "../support/examples/documented.ts";
import {
	startControlPlane,
	type TestControlPlane,
} from "../support/servers/control-plane.ts";

/*
 * A version that adds a field, and the ways back from it: the field stays in stored resources, also through a write by the earlier
 * version.
 */

const namespace = "tidemill-system";
const source = "sources.tidemill.dev";
const soon = { timeout: 60_000, interval: 100 };
const guards = "mutatingadmissionpolicybindings,mutatingadmissionpolicies";
let cluster: TestControlPlane;
let folder: string;
/** The chart with one more field, and the chart as it was before there was a guard. */
let newer: string;
let unguarded: string;

beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), "rollback-"));
	[newer, unguarded] = [join(folder, "newer"), join(folder, "unguarded")];
	for (const copy of [newer, unguarded])
		await cp(chart, copy, { recursive: true });
	await edit(newer, "files/crds/sources.yaml", (text) => {
		const crd = parse(text);
		const { spec } = crd.spec.versions[0].schema.openAPIV3Schema.properties;
		spec.properties.colour = { type: "string" };
		return stringify(crd);
	});
	await edit(unguarded, "templates/cluster/crds.yaml", (text) =>
		text
			.replace(/^.*tidemill.dev\/fields.*$/m, "")
			.replace(/\{\{- range \$text.*?\{\{- end \}\}\n/s, ""),
	);
	cluster = await startControlPlane();
	for (const name of [namespace, "shop"])
		await cluster.kubectl("create", "namespace", name);
});

afterAll(async () => {
	await cluster?.stop();
	await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
	const releases = await helm("list", "--short", ...where());
	if (releases.trim()) await run("uninstall");
	await cluster.kubectl("delete", "crds", "--all");
	await cluster.kubectl("delete", `${guards},${refusals}`, "--all");
});

const refusals =
	"validatingadmissionpolicybindings,validatingadmissionpolicies";

test("helm rollback keeps the newer definitions, and a field of theirs through writes and the next upgrade", async () => {
	await run("install", chart, ...values);
	const before = await fields();
	await run("upgrade", newer, ...values);
	expect(await fields()).toBe(before + 1);
	await untilGuarded();
	await run("rollback", "1");
	await expectColourToStay();
	expect(await fields()).toBe(before + 1);
	expect(await helm("status", "tidemill", ...where())).toContain("deployed");
	await run("upgrade", newer, ...values);
	await expectColourToStay();
});

test("a rollback to a chart without the guard keeps them, too, and so does what a Git revert applies", async () => {
	await run("install", unguarded, ...values);
	await run("upgrade", newer, ...values);
	await untilGuarded();
	await run("rollback", "1");
	await expectColourToStay();

	// As Argo CD and Flux's Kustomization apply what they render.
	const objects = await render(...values);
	const crds = objects.filter(({ metadata }) => metadata.name === source);
	const file = join(folder, "reverted.yaml");
	await writeFile(file, stringify(crds[0]));
	const serverSide = ["--server-side", "--force-conflicts"];
	for (const flags of [serverSide, ["--validate=false"]]) {
		await cluster.kubectl("apply", `--filename=${file}`, ...flags);
		await expectColourToStay();
	}
});

test("where no policy can change what it admits, the older definitions are refused, and the documented command goes back without them", async () => {
	await run("install", chart, ...values);
	await run("upgrade", newer, ...values);
	await untilGuarded();
	await cluster.kubectl("delete", guards, "tidemill-crds");
	const refused = "has fields in the cluster that are missing here";
	await vi.waitFor(async () => {
		await expect(run("rollback", "1")).rejects.toThrow(refused);
	}, soon);
	await expectColourToStay();

	const args = documentedText("docs/upgrade.md#back-to-an-earlier-version sh")
		.trim()
		.split(/\s+/)
		.slice(1);
	const from = args.indexOf("--version");
	args.splice(from, 2);
	const own = args
		.map((arg) => (arg.startsWith("oci://") ? chart : arg))
		.map((arg) =>
			arg === "values.yaml" ? examples.get("own-nats-and-store")! : arg,
		)
		.filter((arg) => arg !== "--wait");
	await helm(...own, `--kubeconfig=${cluster.kubeconfig}`);
	await expectColourToStay();
	await run("upgrade", newer, ...values);
	await expectColourToStay();
});

const values = [`--values=${examples.get("own-nats-and-store")}`];

const where = () => [
	`--namespace=${namespace}`,
	`--kubeconfig=${cluster.kubeconfig}`,
];

async function run(command: string, ...args: string[]): Promise<void> {
	await helm(command, "tidemill", ...args, ...where());
}

async function edit(
	copy: string,
	path: string,
	change: (text: string) => string,
): Promise<void> {
	const file = join(copy, path);
	const text = await readFile(file, "utf8");
	const changed = change(text);
	expect(changed).not.toBe(text);
	await writeFile(file, changed);
}

async function fields(): Promise<number> {
	const path = "jsonpath={.metadata.annotations.tidemill\\.dev/fields}";
	return Number(
		await cluster.kubectl("get", "crd", source, `--output=${path}`),
	);
}

/** The apiserver learns about policies and definitions by watches. */
async function untilGuarded(): Promise<void> {
	await cluster.kubectl("delete", source, "--all", "--namespace=shop");
	const file = join(folder, "source.yaml");
	await writeFile(
		file,
		stringify({
			apiVersion: "tidemill.dev/v1alpha1",
			kind: "Source",
			metadata: { name: "orders", namespace: "shop" },
			spec: { type: "Webhook", colour: "green" },
		}),
	);
	await vi.waitFor(
		() => cluster.kubectl("create", `--filename=${file}`, "--validate=strict"),
		soon,
	);
	await vi.waitFor(async () => {
		const answer = await cluster
			.kubectl(
				...["annotate", "crd", source, "tidemill.dev/fields=0"],
				...["--overwrite", "--dry-run=server", "--output=json"],
			)
			.catch(String);
		expect(answer).not.toContain('"tidemill.dev/fields": "0"');
	}, soon);
}

let writes = 0;

/** Whoever writes the object gets it decoded, and so pruned, by the definitions of the moment. */
async function expectColourToStay(): Promise<void> {
	const own = ["orders", "--namespace=shop"];
	expect(await cluster.kubectl("get", "crd", source, "-o=json")).toContain(
		'"colour"',
	);
	// The apiserver begins to serve changed definitions some time later.
	for (let again = 0; again < 10; again++)
		await cluster.kubectl(
			...["annotate", source, ...own, "--overwrite"],
			`example.com/write=${writes++}`,
		);
	expect(
		await cluster.kubectl("get", source, ...own, "-o=jsonpath={.spec.colour}"),
	).toBe("green");
}
