import type { PodResources, PodTemplate } from "../../crds/generated/types.ts";
import {
	type CheckInput,
	jobEnv,
	jobExitCode,
	jobPaths,
	type LoadInput,
} from "../../packages/contracts/job.ts";
import type { OperationInput } from "../../packages/contracts/operation.ts";
import type { Job, Secret } from "../../packages/kube/kinds.ts";
import {
	controllerReference,
	type KubeObject,
	type ResourceKind,
} from "../../packages/kube/resource.ts";
import type {
	SecretFile,
	WarehouseVolume,
} from "../../packages/warehouses/definition/definition.ts";
import type { PodPolicy } from "../reconcile/context.ts";
import { type HeldTemplate, maxTemplateLength } from "../reconcile/held.ts";

/** A Job, and the Secret that is mounted as its input, with the credentials. */
export interface JobWithInput {
	job: Job;
	secret: Secret;
}

/** What differs between the Jobs of a Run (`tidemill load`), a Destination (`tidemill check`) and an Operation. */
export interface JobTemplate {
	command: "load" | "check" | "operation";
	image: string;
	/** The volume of a warehouse that is a file. */
	volume?: WarehouseVolume;
	/** The warehouse's credentials. They stand beside the input. */
	secretFiles?: SecretFile[];
	serviceAccountName?: string;
	/** What people choose, already validated by podTemplateProblem. */
	pod?: PodTemplate;
	/** How often Kubernetes replaces a failed Pod, with exponential backoff. */
	retries: number;
	activeDeadlineSeconds?: number;
}

/**
 * A Job that runs one process of Tidemill, with its input. The owner owns both.
 * @param of Names and labels of the two. The labels are those of the Pods, too. @param input None for a Job that is never made.
 */
export function jobWithInput<T extends KubeObject>(
	of: {
		kind: ResourceKind<T>;
		owner: T;
		jobName: string;
		secretName: string;
		labels: Record<string, string>;
	},
	input: LoadInput | CheckInput | OperationInput | undefined,
	template: JobTemplate,
): JobWithInput {
	const { kind, owner, jobName, secretName } = of;
	const { pod = {} } = template;
	// Ours win: the operator finds Jobs and Pods by them.
	const labels = { ...pod.labels, ...of.labels };
	const metadata = {
		namespace: owner.metadata.namespace!,
		ownerReferences: [controllerReference(kind, owner)],
	};
	const text = JSON.stringify(input ?? {});
	return {
		secret: {
			apiVersion: "v1",
			kind: "Secret",
			metadata: { ...metadata, name: secretName, labels: of.labels },
			data: {
				"input.json": Buffer.from(text).toString("base64"),
				...Object.fromEntries(
					(template.secretFiles ?? []).map(({ file, content }) => [
						file,
						content,
					]),
				),
			},
		},
		job: {
			apiVersion: "batch/v1",
			kind: "Job",
			metadata: {
				...metadata,
				name: jobName,
				labels,
				...(pod.annotations && { annotations: pod.annotations }),
			},
			spec: jobSpec(secretName, labels, template),
		},
	};
}

/** Under the restricted Pod Security Standard. The process needs no token and no network of the control plane. */
function jobSpec(
	inputSecret: string,
	labels: Record<string, string>,
	template: JobTemplate,
): NonNullable<Job["spec"]> {
	const warehouse = template.volume && warehouseVolume(template.volume);
	const { pod = {} } = template;
	return {
		backoffLimit: template.retries,
		// The next Pod starts after the last one is gone, so that one process has the warehouse's file (KEP-3939).
		podReplacementPolicy: "Failed",
		podFailurePolicy: {
			rules: [
				// An evicted or preempted Pod is not a failure of the load and costs no retry.
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
			metadata: {
				labels,
				...(pod.annotations && { annotations: pod.annotations }),
			},
			spec: {
				...chosenPodFields(pod),
				restartPolicy: "Never",
				automountServiceAccountToken: false,
				enableServiceLinks: false,
				...(template.serviceAccountName && {
					serviceAccountName: template.serviceAccountName,
				}),
				securityContext: {
					runAsNonRoot: true,
					// A new volume belongs to root. The group lets the image's user write to it. It may regroup the volume's files,
					// which the claim's label allows.
					...(template.volume &&
						"volumeClaimName" in template.volume && {
							fsGroup: 1000,
							fsGroupChangePolicy: "OnRootMismatch",
						}),
					seccompProfile: { type: "RuntimeDefault" },
				},
				containers: [
					{
						name: containerName,
						image: template.image,
						command: ["tidemill"],
						args: [template.command, "--input", `${jobPaths.input}/input.json`],
						env: [
							...chosenEnv(pod),
							{ name: jobEnv.scratch, value: jobPaths.scratch },
							{ name: jobEnv.result, value: jobPaths.result },
							...(warehouse
								? [{ name: jobEnv.warehouse, value: jobPaths.warehouse }]
								: []),
							...(template.secretFiles ?? []).map(({ file, env }) => ({
								name: env,
								value: `${jobPaths.input}/${file}`,
							})),
						],
						...(pod.resources && { resources: asText(pod.resources) }),
						securityContext: {
							allowPrivilegeEscalation: false,
							readOnlyRootFilesystem: true,
							capabilities: { drop: ["ALL"] },
						},
						terminationMessagePath: jobPaths.result,
						// A process that is killed leaves no result, and the end of its log says more than nothing.
						terminationMessagePolicy: "FallbackToLogsOnError",
						volumeMounts: [
							{ name: "input", mountPath: jobPaths.input, readOnly: true },
							{ name: "scratch", mountPath: jobPaths.scratch },
							...(warehouse
								? [{ name: warehouse.name, mountPath: jobPaths.warehouse }]
								: []),
						],
					},
				],
				volumes: [
					{ name: "input", secret: { secretName: inputSecret } },
					{ name: "scratch", emptyDir: {} },
					...(warehouse ? [warehouse] : []),
				],
			},
		},
	};
}

/** Our API accepts `cpu: 1`; a Pod's resources are text. */
function asText({ requests, limits }: PodResources) {
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

/** The container of every Job. Its termination message is the result. */
export const containerName = "tidemill";

function warehouseVolume(warehouse: WarehouseVolume): Volume {
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

/**
 * Why people may not choose this. Whoever may write Pipelines may not be allowed to create Pods, and other software acts on
 * some of a Pod's fields: a mesh runs the image that an annotation names, beside our container and its key, and a Service
 * sends another application's requests to each Pod that has its labels.
 * @param field The template's, such as `spec.runTemplate`.
 */
export function podTemplateProblem(
	template: HeldTemplate,
	policy: PodPolicy,
	field: string,
) {
	const { labels = {}, annotations = {}, priorityClassName } = template;
	const length = template.tooLong ?? JSON.stringify(template).length;
	if (length > maxTemplateLength)
		return {
			reason: "TemplateTooLarge",
			message: `${field} has ${length} characters as JSON, and ${maxTemplateLength} is the most. Choose nodes by fewer labels of your own, and name fewer hosts without a proxy.`,
		} as const;
	const label = Object.keys(labels).find(notIn(policy.labels));
	if (label !== undefined)
		return {
			reason: "LabelNotAllowed",
			message: `${field}.labels has "${label}", which the operator's setting TIDEMILL_JOB_LABELS does not allow. Remove it, or ask an administrator to allow it.`,
		} as const;
	const key = Object.keys(annotations).find(notIn(policy.annotations));
	if (key !== undefined)
		return {
			reason: "AnnotationNotAllowed",
			message: `${field}.annotations has "${key}", which the operator's setting TIDEMILL_JOB_ANNOTATIONS does not allow. Remove it, or ask an administrator to allow it.`,
		} as const;
	if (
		priorityClassName !== undefined &&
		!policy.priorityClasses.includes(priorityClassName)
	)
		return {
			reason: "PriorityClassNotAllowed",
			message: `${field}.priorityClassName is "${priorityClassName}", which the operator's setting TIDEMILL_JOB_PRIORITY_CLASSES does not allow. Remove it, or ask an administrator to allow it.`,
		} as const;
	return undefined;
}

/** Labels or annotations. They turn the injection of a sidecar on or off, or hold the Pod on its node until it ends. */
const harmlessKeys = [
	"sidecar.istio.io/inject",
	"linkerd.io/inject",
	"consul.hashicorp.com/connect-inject",
	"kuma.io/sidecar-injection",
	"cluster-autoscaler.kubernetes.io/safe-to-evict",
	"karpenter.sh/do-not-disrupt",
];

function notIn(allowed: string[]): (key: string) => boolean {
	return (key) =>
		![...harmlessKeys, ...allowed].some((each) =>
			each.endsWith("*") ? key.startsWith(each.slice(0, -1)) : key === each,
		);
}

/** The fields of the Pod's spec that people choose. */
function chosenPodFields({
	nodeSelector,
	tolerations,
	affinity,
	imagePullSecrets,
	priorityClassName,
}: PodTemplate) {
	// Our types have what the CRD allows, which is a part of what a Pod allows.
	const fields = {
		// The image is Linux's, and a cluster may have nodes of Windows.
		nodeSelector: { "kubernetes.io/os": "linux", ...nodeSelector },
		tolerations,
		affinity,
		imagePullSecrets,
		priorityClassName,
	};
	return Object.fromEntries(
		Object.entries(fields).filter(([, value]) => value !== undefined),
	) as Partial<PodSpec>;
}

/**
 * Proxies of what goes by https, in which a proxy sees nothing but the host. Over http it would read the Run's manifest and links,
 * and who writes a template may not read events, so http takes no proxy. What an earlier CRD let in isn't passed on.
 */
export function chosenEnv({ env = [] }: PodTemplate) {
	// As Node looks for them (undici's EnvHttpProxyAgent).
	const first = (...names: string[]) =>
		names
			.map((name) => env.find((variable) => variable.name === name)?.value)
			.find((value) => value !== undefined);
	const proxy = first("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY");
	const direct = first("no_proxy", "NO_PROXY");
	if (!proxy) return [];
	return [
		{ name: "HTTPS_PROXY", value: proxy },
		...(direct === undefined ? [] : [{ name: "NO_PROXY", value: direct }]),
		// Without it, Node ignores the others.
		{ name: "NODE_USE_ENV_PROXY", value: "1" },
	];
}
