import type { TestProject } from "vitest/node";
import { startControlPlane } from "../control-plane.ts";

declare module "vitest" {
	export interface ProvidedContext {
		/** Path of an administrator's kubeconfig for the control plane that all integration tests share. */
		kubeconfig: string;
	}
}

/** Starts one control plane for all integration tests; each test makes a namespace of its own. */
export default async function setup(
	project: TestProject,
): Promise<() => Promise<void>> {
	const controlPlane = await startControlPlane();
	project.provide("kubeconfig", controlPlane.kubeconfig);
	return () => controlPlane.stop();
}
