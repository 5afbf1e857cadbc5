import { join } from "node:path";
import { inject } from "vitest";
import { projectDirectory } from "../../../local/machine/home.ts";
import { helm } from "../../../tools/generate/chart/install-yaml.ts";
import { tryOut } from "../../support/chart/try-out.ts";
import { type ImageValues, imageValues } from "../given/image.ts";
import { images } from "../images/images.ts";
import { get, kubectl } from "./cluster.ts";

export const systemNamespace = "tidemill-system";
const release = "tidemill";

/** What is installed: by default what this repository holds, with the values of docs/install.md. */
export const thisVersion = {
	image: imageValues(images.tidemill),
	chart: join(projectDirectory, "charts/tidemill"),
	values: tryOut.values,
};

/** More values, such as the type of receive's Service in a cluster whose Service addresses this machine doesn't reach. */
const more = process.env.TIDEMILL_E2E_VALUES;

/** What a lab adds to an installation: the image that its nodes have. */
function ofLab(image: ImageValues): string[] {
	return [
		...Object.entries(image).map(
			([key, value]) => `--set=image.${key}=${value}`,
		),
		...(more ? [`--values=${more}`] : []),
	];
}

/** The first installation by the command of docs/install.md, with this folder's chart; settles when all Pods are ready. */
export async function installAsDocumented(...args: string[]): Promise<void> {
	const [program, ...words] = tryOut.command;
	if (program !== "helm")
		throw new Error(`docs/install.md installs by ${program}, not by helm`);
	const { chart, values, image } = thisVersion;
	const documented = words.map((word) =>
		word.startsWith("oci://") ? chart : word === "try-out.yaml" ? values : word,
	);
	await onCluster(...documented, ...ofLab(image), ...args);
}

/** Installs the chart, or upgrades what is installed; settles when all Pods are ready. */
export async function installChart(
	{ image, chart, values } = thisVersion,
	...args: string[]
): Promise<void> {
	await onCluster(
		"upgrade",
		release,
		chart,
		"--install",
		"--create-namespace",
		`--values=${values}`,
		...ofLab(image),
		...args,
		"--wait",
		"--timeout=4m",
	);
}

/** Installs a second release beside the first one, which has the kinds and the roles for people. */
export async function installBeside(
	namespace: string,
	...args: string[]
): Promise<void> {
	const { chart, values, image } = thisVersion;
	await onClusterIn(
		namespace,
		...["install", release, chart, "--create-namespace", `--values=${values}`],
		...["--set=crds.enabled=false", "--set=rbac.createRoles=false"],
		...ofLab(image),
		...args,
	);
}

/** The same values, and others that make it fail; doesn't wait for Pods. */
export async function installBroken(...values: string[]): Promise<void> {
	const set = values.map((value) => `--set=${value}`);
	await onCluster(
		...["install", release, thisVersion.chart],
		...[`--values=${thisVersion.values}`, ...ofLab(thisVersion.image), ...set],
		"--timeout=2m",
	);
}

/** Removes the release. The CRDs, the roles for people and the volumes stay. */
export function uninstallChart(namespace = systemNamespace): Promise<void> {
	return onClusterIn(
		namespace,
		...["uninstall", release, "--wait", "--ignore-not-found"],
	);
}

/** Removes the release with all that it keeps: CRDs, with all resources, roles, Secrets and volumes. */
export async function removeInstallation(): Promise<void> {
	await uninstallChart();
	const gone = ["--ignore-not-found", "--timeout=120s"];
	await kubectl("delete", "namespace", systemNamespace, ...gone);
	const crds = `${join(projectDirectory, "charts/tidemill/files/crds")}/`;
	await kubectl("delete", `--filename=${crds}`, ...gone);
	await kubectl("delete", keptRoles, ofTidemill, ...gone);
}

/** What the chart keeps of the whole cluster beside the CRDs. */
const keptRoles =
	"clusterroles,validatingadmissionpolicies,validatingadmissionpolicybindings";
const ofTidemill = "--selector=app.kubernetes.io/part-of=tidemill";

/** `<kind>/<name> <uid>` of the CRDs and the roles for people. */
export async function sharedObjects(): Promise<string[]> {
	const { items } = await get<{
		items: { kind: string; metadata: { name: string; uid: string } }[];
	}>(`crds,${keptRoles}`, ofTidemill);
	return items
		.map(({ kind, metadata }) => `${kind}/${metadata.name} ${metadata.uid}`)
		.filter((name) => !/operator|uninstall/.test(name))
		.toSorted();
}

/** Runs the chart's own tests. */
export function testChart(): Promise<void> {
	return onCluster("test", release, "--timeout=2m");
}

/** Settles when a Deployment or StatefulSet of the release has all its Pods, none of them old. */
export async function rolledOut(workload: string): Promise<void> {
	await inSystem("rollout", "status", "--timeout=180s", workload);
}

/** kubectl in the release's namespace. */
export function inSystem(...args: string[]): Promise<string> {
	return kubectl(`--namespace=${systemNamespace}`, ...args);
}

/** The names of a component's Pods that aren't being deleted. */
export async function podsOf(component: string): Promise<string[]> {
	const { items } = JSON.parse(
		await inSystem(
			"get",
			"pods",
			`--selector=app.kubernetes.io/component=${component}`,
			"--output=json",
		),
	) as { items: { metadata: { name: string; deletionTimestamp?: string } }[] };
	return items
		.filter(({ metadata }) => !metadata.deletionTimestamp)
		.map(({ metadata }) => metadata.name);
}

function onCluster(...args: string[]): Promise<void> {
	return onClusterIn(systemNamespace, ...args);
}

async function onClusterIn(
	namespace: string,
	...args: string[]
): Promise<void> {
	try {
		await helm(
			...args,
			`--kubeconfig=${inject("cluster").kubeconfig}`,
			`--namespace=${namespace}`,
		);
	} catch (error) {
		const pods = await kubectl(
			...["get", "pods", "--output=wide", `--namespace=${namespace}`],
		);
		throw new Error(`${(error as Error).message}\n${pods}`);
	}
}
