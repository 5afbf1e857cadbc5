import { join } from "node:path";
import { inject } from "vitest";
import { helm } from "../../../generate/chart/helm.ts";
import { projectDirectory } from "../../../local/home/home.ts";
import { imageValues } from "../given/image.ts";
import { images } from "../images/images.ts";
import { kubectl } from "./cluster.ts";

export const systemNamespace = "tidemill-system";
const release = "tidemill";

/** What is installed: by default what this repository holds. */
const thisVersion = {
	image: imageValues(images.tidemill),
	chart: join(projectDirectory, "charts/tidemill"),
	values: join(projectDirectory, "test/node/values.yaml"),
};

/** More values, such as the type of receive's Service in a cluster whose Service addresses this machine doesn't reach. */
const more = process.env.TIDEMILL_E2E_VALUES;

/** Installs the chart, or upgrades what is installed; settles when all Pods are ready. */
export async function installChart({
	image,
	chart,
	values,
} = thisVersion): Promise<void> {
	await onCluster(
		"upgrade",
		release,
		chart,
		"--install",
		"--create-namespace",
		`--values=${values}`,
		...Object.entries(image).map(
			([key, value]) => `--set=image.${key}=${value}`,
		),
		...(more ? [`--values=${more}`] : []),
		"--wait",
		"--timeout=4m",
	);
}

/** Removes the release. The CRDs and the volumes stay. */
export function uninstallChart(): Promise<void> {
	return onCluster("uninstall", release, "--wait", "--ignore-not-found");
}

/** Removes the release with all that it keeps: CRDs, with all resources, Secrets and volumes. */
export async function removeInstallation(): Promise<void> {
	await uninstallChart();
	const gone = ["--ignore-not-found", "--timeout=120s"];
	await kubectl("delete", "namespace", systemNamespace, ...gone);
	const crds = `${join(projectDirectory, "crds")}/`;
	await kubectl("delete", `--filename=${crds}`, ...gone);
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

async function onCluster(...args: string[]): Promise<void> {
	try {
		await helm(
			...args,
			`--kubeconfig=${inject("cluster").kubeconfig}`,
			`--namespace=${systemNamespace}`,
		);
	} catch (error) {
		const pods = await inSystem("get", "pods", "--output=wide");
		throw new Error(`${(error as Error).message}\n${pods}`);
	}
}
