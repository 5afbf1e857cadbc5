import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { createTerminal } from "../../local/machine/terminal.ts";
import { isReady, stopNode } from "./cluster/node.ts";
import { locateNodeHome } from "./cluster/node-home.ts";
import { reasonWithoutNode } from "./cluster/requirements.ts";
import { takeCluster } from "./given/cluster.ts";
import { images } from "./images/images.ts";
import { startReadyNode } from "./start.ts";

declare module "vitest" {
	export interface ProvidedContext {
		cluster: TestCluster;
	}
}

/** What the tests run on. */
export interface TestCluster {
	/** Path of an administrator's kubeconfig; undefined where no node can run, so that the tests are skipped. */
	kubeconfig?: string;
	/** Whether the node is ours, so that a test may kill its programs. */
	isOwn: boolean;
}

/**
 * Starts a real node for all tests, or takes the cluster of `TIDEMILL_E2E_KUBECONFIG`, whose nodes must have or be able to pull
 * the image of `TIDEMILL_E2E_IMAGE`, and leaves it as it was. `TIDEMILL_E2E_KEEP` leaves a running node as it is, before and
 * after.
 */
export default async function setup(
	project: TestProject,
): Promise<(() => Promise<void>) | undefined> {
	const given = process.env.TIDEMILL_E2E_KUBECONFIG;
	if (given) {
		const leave = await takeCluster(given, images.tidemill);
		project.provide("cluster", { kubeconfig: given, isOwn: false });
		return leave;
	}
	const reason = reasonWithoutNode();
	if (reason && !process.env.CI) {
		console.error(
			`\n\nTHE TESTS ON A REAL NODE ARE SKIPPED: none can run on this machine, because ${reason}. Name a cluster in TIDEMILL_E2E_KUBECONFIG to run them there.\n\n`,
		);
		project.provide("cluster", { isOwn: false });
		return undefined;
	}
	const home = locateNodeHome();
	const kubeconfig = join(home.kube, "admin.yaml");
	const keep = Boolean(process.env.TIDEMILL_E2E_KEEP);
	if (!keep || !isReady(home)) await startReadyNode(home, createTerminal());
	project.provide("cluster", { kubeconfig, isOwn: true });
	return keep ? undefined : () => stopNode(home);
}
