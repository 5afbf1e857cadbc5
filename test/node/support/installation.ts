import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { inject } from "vitest";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";
import { projectDirectory } from "../../../local/home/home.ts";
import { images } from "../images/images.ts";
import { kubectl } from "./cluster.ts";

export const systemNamespace = "tidemill-system";
const release = "tidemill";

/** Installs the chart, or upgrades what is installed; settles when all Pods are ready. `settings` are helm's `--set`. */
export async function installChart(
	settings: Record<string, string | number> = {},
): Promise<void> {
	const tag = images.tidemill.split(":").at(-1)!;
	const all = { "image.tag": tag, ...settings };
	await helm(
		"upgrade",
		release,
		join(projectDirectory, "charts/tidemill"),
		"--install",
		"--create-namespace",
		`--values=${join(projectDirectory, "test/node/values.yaml")}`,
		...Object.entries(all).map(([name, value]) => `--set=${name}=${value}`),
		"--wait",
		"--timeout=4m",
	);
}

/** Removes the release. The CRDs and the volumes stay. */
export function uninstallChart(): Promise<void> {
	return helm("uninstall", release, "--wait", "--ignore-not-found");
}

/** Runs the chart's own tests. */
export function testChart(): Promise<void> {
	return helm("test", release, "--timeout=2m");
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

async function helm(...args: string[]): Promise<void> {
	const { helm: command } = await resolveBinaries(["helm"]);
	try {
		await promisify(execFile)(command, [
			`--kubeconfig=${inject("cluster").kubeconfig}`,
			`--namespace=${systemNamespace}`,
			...args,
		]);
	} catch (error) {
		const { stdout, stderr } = error as { stdout: string; stderr: string };
		const pods = await inSystem("get", "pods", "--output=wide");
		throw new Error(`helm ${args[0]}: ${stdout}${stderr}\n${pods}`);
	}
}
