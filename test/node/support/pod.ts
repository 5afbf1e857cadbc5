import { vi } from "vitest";
import { images } from "../images/images.ts";
import { apply, get, kubectl } from "./cluster.ts";

/** A Pod's spec for a script on our image's Node, allowed in a restricted namespace. */
export function scriptPod(script: string, more: object = {}): object {
	return {
		automountServiceAccountToken: false,
		securityContext: {
			runAsNonRoot: true,
			seccompProfile: { type: "RuntimeDefault" },
		},
		containers: [
			{
				name: "script",
				image: images.tidemill,
				command: ["node", "--input-type=module", "--eval", script],
				securityContext: {
					allowPrivilegeEscalation: false,
					readOnlyRootFilesystem: true,
					capabilities: { drop: ["ALL"] },
				},
				...more,
			},
		],
	};
}

/** Runs a Pod to its end as a Job. Returns what it printed; throws that if it failed. */
export async function runPod(
	name: string,
	namespace: string,
	podSpec: object,
): Promise<string> {
	await apply({
		apiVersion: "batch/v1",
		kind: "Job",
		metadata: { name, namespace },
		spec: {
			backoffLimit: 0,
			template: { spec: { ...podSpec, restartPolicy: "Never" } },
		},
	});
	const hasSucceeded = await vi.waitFor(
		async () => {
			const { status } = await get<{
				status: { succeeded?: number; failed?: number };
			}>(`job/${name}`, `--namespace=${namespace}`);
			if (status.succeeded || status.failed) return Boolean(status.succeeded);
			throw new Error(`Job ${name} hasn't ended: ${JSON.stringify(status)}`);
		},
		{ timeout: 120_000, interval: 250 },
	);
	const log = await kubectl("logs", `--namespace=${namespace}`, `job/${name}`);
	if (!hasSucceeded) throw new Error(`Job ${name} failed: ${log}`);
	return log;
}
