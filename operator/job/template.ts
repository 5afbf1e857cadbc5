import { jobEnv, jobExitCode, jobPaths } from "../../contracts/job.ts";
import type { PipelineResources } from "../../crds/generated/types.ts";
import type { Job } from "../../kube/kinds.ts";

/** What differs between the Jobs that Tidemill starts: a Run's (`tidemill load`) and a Destination's (`tidemill check`). */
export interface JobTemplate {
	command: "load" | "check";
	image: string;
	/** Labels of the Pods. */
	labels: Record<string, string>;
	/** Name of the Secret whose `input.json` is a LoadInput or CheckInput. */
	inputSecret: string;
	/** Where the DuckDB files are; absent for a destination that has none. */
	warehouse?: Warehouse;
	/** A Google service account's key; absent for workload identity, and where none is needed. */
	credentials?: SecretKey;
	serviceAccountName?: string;
	resources?: PipelineResources;
	/** How often a failed Pod is tried again, by the Job's own exponential backoff. */
	retries: number;
	activeDeadlineSeconds?: number;
}

/** A key of a Secret's data. */
export interface SecretKey {
	name: string;
	key: string;
}

export type Warehouse =
	| { volumeClaimName: string }
	/** A directory of the node: local mode, where the node is this machine. */
	| { hostPath: string };

/**
 * The spec of a Job that runs one process of Tidemill, under the restricted Pod Security Standard.
 * The paths are those of contracts/job.ts; the process needs neither the network of the control plane nor a token.
 */
export function jobSpec(template: JobTemplate): NonNullable<Job["spec"]> {
	const warehouse = template.warehouse && warehouseVolume(template.warehouse);
	const credentials =
		template.credentials && credentialsVolume(template.credentials);
	return {
		backoffLimit: template.retries,
		// The next Pod starts when the last one is gone: one process at a time has the DuckDB file (KEP-3939).
		podReplacementPolicy: "Failed",
		podFailurePolicy: {
			rules: [
				// An evicted or preempted Pod is not the load's failure and takes no retry.
				{
					action: "Ignore",
					onPodConditions: [{ type: "DisruptionTarget", status: "True" }],
				},
				{
					action: "FailJob",
					onExitCodes: {
						containerName,
						operator: "In",
						values: [jobExitCode.permanent],
					},
				},
			],
		},
		...(template.activeDeadlineSeconds !== undefined && {
			activeDeadlineSeconds: template.activeDeadlineSeconds,
		}),
		template: {
			metadata: { labels: template.labels },
			spec: {
				restartPolicy: "Never",
				automountServiceAccountToken: false,
				enableServiceLinks: false,
				...(template.serviceAccountName && {
					serviceAccountName: template.serviceAccountName,
				}),
				securityContext: {
					runAsNonRoot: true,
					// A fresh volume belongs to root; the group lets the image's user write to it.
					fsGroup: 1000,
					fsGroupChangePolicy: "OnRootMismatch",
					seccompProfile: { type: "RuntimeDefault" },
				},
				containers: [
					{
						name: containerName,
						image: template.image,
						command: ["tidemill"],
						args: [template.command, "--input", `${jobPaths.input}/input.json`],
						env: [
							{ name: jobEnv.scratch, value: jobPaths.scratch },
							{ name: jobEnv.result, value: jobPaths.result },
							...(warehouse
								? [{ name: jobEnv.warehouse, value: jobPaths.warehouse }]
								: []),
							...(credentials
								? [
										{
											name: jobEnv.credentials,
											value: `${jobPaths.credentials}/${credentialsFile}`,
										},
									]
								: []),
						],
						...(template.resources && {
							resources: asText(template.resources),
						}),
						securityContext: {
							allowPrivilegeEscalation: false,
							readOnlyRootFilesystem: true,
							capabilities: { drop: ["ALL"] },
						},
						terminationMessagePath: jobPaths.result,
						volumeMounts: [
							{ name: "input", mountPath: jobPaths.input, readOnly: true },
							{ name: "scratch", mountPath: jobPaths.scratch },
							...(warehouse
								? [{ name: warehouse.name, mountPath: jobPaths.warehouse }]
								: []),
							...(credentials
								? [
										{
											name: credentials.name,
											mountPath: jobPaths.credentials,
											readOnly: true,
										},
									]
								: []),
						],
					},
				],
				volumes: [
					{ name: "input", secret: { secretName: template.inputSecret } },
					{ name: "scratch", emptyDir: {} },
					...(warehouse ? [warehouse] : []),
					...(credentials ? [credentials] : []),
				],
			},
		},
	};
}

/** A quantity may be written as a number in YAML; Kubernetes' own types have text. */
function asText({ requests, limits }: PipelineResources) {
	const text = (quantities: Record<string, number | string> = {}) =>
		Object.fromEntries(
			Object.entries(quantities).map(([name, value]) => [name, String(value)]),
		);
	return {
		...(requests && { requests: text(requests) }),
		...(limits && { limits: text(limits) }),
	};
}

type PodSpec = NonNullable<NonNullable<Job["spec"]>["template"]["spec"]>;
type Volume = NonNullable<PodSpec["volumes"]>[number];

/** The one container of every Job; its termination message is the result. */
export const containerName = "tidemill";

function warehouseVolume(warehouse: Warehouse): Volume {
	return "hostPath" in warehouse
		? {
				name: "warehouse",
				hostPath: { path: warehouse.hostPath, type: "DirectoryOrCreate" },
			}
		: {
				name: "warehouse",
				persistentVolumeClaim: { claimName: warehouse.volumeClaimName },
			};
}

const credentialsFile = "key.json";

function credentialsVolume({ name, key }: SecretKey): Volume {
	return {
		name: "credentials",
		secret: { secretName: name, items: [{ key, path: credentialsFile }] },
	};
}
