import type { TestProject } from "vitest/node";
import type { Pki } from "../../local/servers/pki.ts";
import { serveOutages } from "../support/fixtures/control-plane/shared-control-plane.ts";
import { startControlPlane } from "../support/servers/control-plane.ts";

declare module "vitest" {
	export interface ProvidedContext {
		/** Path of an administrator's kubeconfig for the control plane that all integration tests share. */
		kubeconfig: string;
		/** All its keys, for a test that acts as another user. */
		pki: Pki;
		/** Where the tests kill it and start it again. */
		outagesUrl: string;
	}
}

/** Starts one control plane for all integration tests; each test makes a namespace of its own. */
export default async function setup(
	project: TestProject,
): Promise<() => Promise<void>> {
	const controlPlane = await startControlPlane();
	const outages = await serveOutages(controlPlane);
	project.provide("kubeconfig", controlPlane.kubeconfig);
	project.provide("pki", controlPlane.pki);
	project.provide("outagesUrl", outages.url);
	return () => {
		outages.stop();
		return controlPlane.stop();
	};
}
