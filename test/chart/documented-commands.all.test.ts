// On a laptop nothing proves this: Helm is built for minutes.
import { execFile } from "node:child_process";
import { symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { resolveBinaries } from "../../local/binaries/resolve.ts";
import { tidemillCommand } from "../../local/machine/home.ts";
import { chart, renderText } from "../support/chart/render.ts";
import { startStillNode } from "../support/doubles/kubernetes/still-node.ts";
import {
	documented,
	documentedText,
	type Piece,
} from "../support/examples/documented.ts";
import {
	startControlPlane,
	type TestControlPlane,
} from "../support/servers/control-plane.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/*
 * What pages tell an administrator to type about an installation, word for word, with the real Helm, kubectl and apiserver. Its
 * Pods don't run: a double says that they do. Each test goes on where the one before it has ended.
 */

let cluster: TestControlPlane;
let folder: string;
let stopNode: () => Promise<void>;

beforeAll(async () => {
	cluster = await startControlPlane();
	// The chart brings them.
	await cluster.kubectl("delete", "crds", "--all");
	folder = await temporaryDirectory("documented-commands");
	const { kubectl, helm } = await resolveBinaries(["kubectl", "helm"]);
	const programs = { kubectl, helm, tidemill: tidemillCommand() };
	for (const [name, program] of Object.entries(programs))
		await symlink(program, join(folder, name));
	await symlink(examples, join(folder, "examples"));
	stopNode = await startStillNode(cluster, {
		log: "ALARM a certificate, a slow consumer: reconciling failed 1f2e3d4c\n",
		metrics:
			'kubelet_volume_stats_used_bytes{persistentvolumeclaim="data-tidemill-nats-0"} 1\n',
	});
	await write(
		"try-out.yaml",
		documentedText("docs/install.md#try-it-out yaml"),
	);
	await write(
		"values.yaml",
		documentedText("docs/install.md#install-it-for-good yaml"),
	);
	await write(
		"values-two.yaml",
		documentedText("docs/install.md#try-it-out yaml").replace(
			"[shop]",
			"[other]",
		),
	);
	for (const kind of [
		"applications.argoproj.io",
		"certificates.cert-manager.io",
		"podmonitors.monitoring.coreos.com",
		"servicemonitors.monitoring.coreos.com",
	])
		await applyForeignKind(kind);
});

afterAll(async () => {
	await stopNode?.();
	await cluster?.stop();
});

const write = (name: string, text: string) =>
	writeFile(join(folder, name), text);

interface Said {
	stdout: string;
	stderr: string;
	code: number;
}

const examples = join(import.meta.dirname, "../../examples");

/** What an administrator puts in the place of names. */
const filled: Record<string, string> = {
	"oci://ghcr.io/tidemill/charts/tidemill": chart,
	"<chart>": chart,
	"<account>": "shop",
};

/** Runs pieces one after the other, and tells all that was said. @param flags of the shell. */
async function run(flags: string, ...pieces: Piece[]): Promise<Said> {
	const script = Object.entries(filled).reduce(
		(text, [name, value]) => text.replaceAll(name, value),
		pieces.map(({ text }) => text).join(""),
	);
	const options = {
		cwd: folder,
		env: {
			...process.env,
			KUBECONFIG: cluster.kubeconfig,
			PATH: [folder, process.env.PATH].join(delimiter),
		},
	};
	const shell = [flags, "pipefail", "-c", script];
	return promisify(execFile)("bash", shell, options).then(
		(said) => ({ ...said, code: 0 }),
		(error) => error as Said,
	);
}

/** The same of what ends well. Returns what it printed. */
async function done(...pieces: Piece[]): Promise<string> {
	const { stdout, stderr, code } = await run("-euo", ...pieces);
	expect(code, stderr).toBe(0);
	return stdout;
}

test("the chart is installed to try it out", async () => {
	const said = await done(...documented("docs/install.md#try-it-out sh 1"));
	expect(said).toContain("STATUS: deployed");
	// An operator would take it.
	const metadata = { name: "tidemill-operator", namespace: "tidemill-system" };
	await create({
		...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata },
	});
});

test.each(
	documented(
		"docs/runbooks/Tidemill{APIDown,ArchiveAlarm,ArchiveDown,ArchiveLagUnknown,ArchiveWorkFails,BufferFills,CertificateExpires,ClockOff,ExporterAbsent,FramesLost,InstallationOverlap,NATSAccountMissing,NATSDown,NotifyDown,OperatorDown,OperatorFails,OperatorHasNoLeader,ReceiveDown,ReplicasMissing,RoutesAreOld,S3Down}.md sh",
		// Nothing runs in a Pod.
	).filter(({ text }) => !text.includes("kubectl exec")),
)("$page has commands that an installation answers", async (piece) => {
	const { stdout, stderr } = await run("-uo", piece);
	// A doctor tells that nothing runs.
	expect(stderr).not.toMatch(/error/i);
	expect(stdout).toMatch(/tidemill|ALARM/);
});

test.each([
	...documented("docs/rotate-secrets.md#your-own-secrets sh"),
	...documented(
		"docs/rotate-secrets.md#if-nats-and-the-processes-dont-agree sh",
	),
	...documented("docs/troubleshooting.md#a-message-names-an-error-in-a-log sh"),
	...documented("docs/observability.md#alerts sh"),
])("$page, $heading, is what an installation answers", async (piece) => {
	expect(await done(piece)).toMatch(
		/deployment.apps\/tidemill-archive restarted|ALARM|TidemillArchiveLags/,
	);
});

test("the doctor says that nothing runs", async () => {
	const [doctor] = documented("docs/install.md#try-it-out sh 3");
	const { stdout, code } = await run("-euo", doctor!);
	expect(code).toBe(1);
	expect(stdout).toContain("✓ cluster");
	expect(stdout).toContain("✗ operator");
});

test("Argo CD gets the checks of health and the example", async () => {
	await cluster.kubectl("create", "namespace", "argocd");
	const metadata = { name: "argocd-cm", namespace: "argocd" };
	await create({ apiVersion: "v1", kind: "ConfigMap", metadata });
	expect(await done(...documented("docs/gitops.md#argo-cd sh"))).toContain(
		"configmap/argocd-cm patched\napplication.argoproj.io/tidemill created",
	);
});

test("it is uninstalled, and nothing stays", async () => {
	await done(...documented("docs/install.md#uninstall sh"));
	const left = await cluster.kubectl("get", "crds,namespaces", "--output=name");
	expect(left).not.toContain("tidemill");
});

test("it is installed for good, tested and upgraded, and a second release stands beside it", async () => {
	for (const namespace of ["billing", "other"])
		await cluster.kubectl("create", "namespace", namespace);
	const said = [
		await done(...documented("docs/install.md#install-it-for-good sh")),
		await done(...documented("docs/upgrade.md#upgrade sh")),
		await done(
			...documented("docs/install.md#several-installations-in-one-cluster sh"),
		),
	];
	for (const each of said) expect(each).toContain("STATUS: deployed");
});

test("it takes objects that somebody has applied", async () => {
	await done(...documented("docs/install.md#uninstall sh 1"));
	const objects = await renderText(`--values=${join(folder, "values.yaml")}`);
	const crds = objects
		.split(/^---$/m)
		.filter((text) => text.includes("kind: CustomResourceDefinition"));
	await cluster.kubectl(
		"delete",
		"crds",
		"--selector=app.kubernetes.io/part-of=tidemill",
	);
	await write("crds.yaml", crds.join("---"));
	const apply = [
		"apply",
		"--server-side",
		`--filename=${join(folder, "crds.yaml")}`,
	];
	await cluster.kubectl(...apply);
	const [take] = documented(
		"docs/reference/installation.md#objects-that-are-there-before sh",
	);
	expect(await done(take!)).toContain("STATUS: deployed");
});

test("the chart's own page installs it", async () => {
	await done(...documented("docs/install.md#uninstall sh 1"));
	const [install] = documented(
		"charts/tidemill/README.md#tidemills-helm-chart sh 1",
	);
	expect(await done(install!)).toContain("STATUS: deployed");
});

async function applyForeignKind(name: string): Promise<void> {
	const [plural, ...group] = name.split(".");
	const kind = plural!.replace(/s$/, "");
	const open = { "x-kubernetes-preserve-unknown-fields": true };
	const schema = { openAPIV3Schema: { type: "object", ...open } };
	await create({
		apiVersion: "apiextensions.k8s.io/v1",
		kind: "CustomResourceDefinition",
		metadata: { name },
		spec: {
			group: group.join("."),
			scope: "Namespaced",
			names: {
				plural,
				singular: kind,
				kind: `${kind[0]!.toUpperCase()}${kind.slice(1)}`,
			},
			versions: ["v1alpha1", "v1"].map((version) => ({
				name: version,
				served: true,
				storage: version === "v1",
				schema,
			})),
		},
	});
}

async function create(object: object): Promise<void> {
	await write("object.json", JSON.stringify(object));
	await cluster.kubectl("create", `--filename=${join(folder, "object.json")}`);
}
