import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundle } from "../../image/bundle.ts";
import type { Pki } from "../../local/cluster/pki.ts";
import { projectDirectory } from "../../local/home/home.ts";
import { startControlPlane } from "../support/servers/control-plane.ts";

declare module "vitest" {
	export interface ProvidedContext {
		/** Path of an administrator's kubeconfig for the control plane that all integration tests share. */
		kubeconfig: string;
		/** All its keys, for a test that acts as another user. */
		pki: Pki;
	}
}

/**
 * Starts one control plane for all integration tests; each test makes a namespace of its own. The processes that they start run
 * the image's bundle, which starts in a third of the CPU time.
 */
export default async function setup(
	project: TestProject,
): Promise<() => Promise<void>> {
	const program = await programDirectory();
	const [controlPlane] = await Promise.all([
		startControlPlane(),
		bundle(program, process.execPath),
	]);
	process.env.TEST_PROGRAM = join(program, "tidemill.js");
	project.provide("kubeconfig", controlPlane.kubeconfig);
	project.provide("pki", controlPlane.pki);
	return async () => {
		await controlPlane.stop();
		await rm(program, { recursive: true });
	};
}

/** Inside the project, where it finds DuckDB. */
async function programDirectory(): Promise<string> {
	const parent = join(projectDirectory, ".tidemill");
	await mkdir(parent, { recursive: true });
	return mkdtemp(join(parent, "test-program-"));
}
