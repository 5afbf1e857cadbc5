import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";
import { LocalError } from "../../../local/machine/errors.ts";
import {
	crdFiles,
	type Kubectl,
	kubectlOf,
} from "../../../local/servers/resources.ts";
import { helm } from "../../../tools/generate/chart/install-yaml.ts";
import {
	imageStart,
	namespaces,
	ownLabel,
	reasonAgainst,
	type TriedPod,
} from "./decide.ts";
import { imageValues } from "./image.ts";

const imageTimeoutMs = 300_000;

/**
 * Makes sure that the tests may use somebody's cluster and that its nodes have the image. Returns what removes all that the
 * tests have made. Throws a LocalError that says what to do.
 */
export async function takeCluster(
	kubeconfig: string,
	image: string,
): Promise<() => Promise<void>> {
	imageValues(image);
	const { kubectl: command } = await resolveBinaries(["kubectl"]);
	const kubectl = kubectlOf(
		command,
		kubeconfig,
		`the cluster of ${kubeconfig}`,
	);
	const all = async (kind: string) =>
		JSON.parse(await kubectl("get", kind, "--all-namespaces", "--output=json"))
			.items;
	const reason =
		reasonAgainst({
			namespaces: await all("namespaces"),
			customResourceDefinitions: await all("customresourcedefinitions"),
			storageClasses: await all("storageclasses"),
			deployments: await all("deployments"),
		}) ?? (await reasonAgainstImage(kubectl, image));
	if (reason)
		throw new LocalError(
			`The tests can't use the cluster of ${kubeconfig}: ${reason}`,
		);
	for (const name of namespaces) {
		const existing = await kubectl(
			...["get", "namespace", name, "--ignore-not-found", "--output=name"],
		);
		if (!existing) await kubectl("create", "namespace", name);
		await kubectl(
			"label",
			"namespace",
			name,
			"--overwrite",
			`${ownLabel}=true`,
		);
	}
	return () => leaveCluster(kubectl, kubeconfig);
}

async function reasonAgainstImage(
	kubectl: Kubectl,
	image: string,
): Promise<string | undefined> {
	const pod = `tidemill-image-${randomUUID().slice(0, 8)}`;
	await kubectl(
		...["run", pod, `--image=${image}`, "--restart=Never"],
		...["--namespace=default", "--", "help"],
	);
	try {
		const deadline = Date.now() + imageTimeoutMs;
		for (;;) {
			const text = await kubectl(
				...["get", "pod", pod, "--namespace=default", "--output=json"],
			);
			const start = imageStart(JSON.parse(text) as TriedPod, image);
			if (start === "started") return undefined;
			if (start) return start.problem;
			if (Date.now() > deadline)
				return `no node has started ${image} within ${imageTimeoutMs / 60_000} minutes. See: kubectl get events --namespace=default`;
			await delay(500);
		}
	} finally {
		await kubectl("delete", "pod", pod, "--namespace=default", "--wait=false");
	}
}

/** Accounts first: Tidemill has to let go of their Sources. */
async function leaveCluster(
	kubectl: Kubectl,
	kubeconfig: string,
): Promise<void> {
	const gone = ["--ignore-not-found", "--timeout=180s"];
	const [system, ...accounts] = namespaces;
	await kubectl("delete", "namespace", ...accounts, ...gone);
	await helm(
		...["uninstall", "tidemill", `--namespace=${system}`, "--wait"],
		...["--ignore-not-found", `--kubeconfig=${kubeconfig}`],
	);
	await kubectl("delete", "namespace", system!, ...gone);
	const files = (await crdFiles()).map((file) => `--filename=${file}`);
	await kubectl("delete", ...files, ...gone);
	await kubectl(
		...["delete", "--selector=app.kubernetes.io/part-of=tidemill", ...gone],
		"clusterroles,validatingadmissionpolicies,validatingadmissionpolicybindings",
	);
}
