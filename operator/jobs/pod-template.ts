import type { PodTemplate } from "../../crds/generated/types.ts";
import type { Job } from "../../packages/kube/kinds.ts";
import type { PodPolicy } from "../reconcile/context.ts";

/**
 * Why people may not choose this. Whoever may write Pipelines may not be allowed to create Pods, and other software acts on
 * some of a Pod's fields: a mesh runs the image that an annotation names, beside our container and its key.
 * @param field The template's, such as `spec.runTemplate`.
 */
export function podTemplateProblem(
	{ annotations = {}, priorityClassName }: PodTemplate,
	policy: PodPolicy,
	field: string,
) {
	const key = Object.keys(annotations).find(
		(key) =>
			![...harmlessAnnotations, ...policy.annotations].some((allowed) =>
				matches(key, allowed),
			),
	);
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

/** They turn the injection of a sidecar on or off, or hold the Pod on its node until it ends. */
export const harmlessAnnotations = [
	"sidecar.istio.io/inject",
	"linkerd.io/inject",
	"consul.hashicorp.com/connect-inject",
	"kuma.io/sidecar-injection",
	"cluster-autoscaler.kubernetes.io/safe-to-evict",
	"karpenter.sh/do-not-disrupt",
];

function matches(key: string, allowed: string): boolean {
	return allowed.endsWith("*")
		? key.startsWith(allowed.slice(0, -1))
		: key === allowed;
}

type PodSpec = NonNullable<NonNullable<Job["spec"]>["template"]["spec"]>;

/** The fields of the Pod's spec that people choose. */
export function chosenPodFields({
	nodeSelector,
	tolerations,
	affinity,
	imagePullSecrets,
	priorityClassName,
}: PodTemplate) {
	// Our types have what the CRD allows, which is a part of what a Pod allows.
	const fields = {
		nodeSelector,
		tolerations,
		affinity,
		imagePullSecrets,
		priorityClassName,
	};
	return Object.fromEntries(
		Object.entries(fields).filter(([, value]) => value !== undefined),
	) as Partial<PodSpec>;
}

/** Variables by which Node's HTTP clients find a proxy (undici's EnvHttpProxyAgent). */
const proxyVariables: ReadonlySet<string> = new Set([
	"HTTP_PROXY",
	"HTTPS_PROXY",
	"NO_PROXY",
	"http_proxy",
	"https_proxy",
	"no_proxy",
]);

/** The CRD admits no others. An object that an earlier CRD let in must not reach the key that the container has. */
export function chosenEnv({ env = [] }: PodTemplate) {
	const chosen = env
		.filter(({ name }) => proxyVariables.has(name))
		.map(({ name, value }) => ({ name, value }));
	// Without it, Node ignores the others.
	return chosen.length === 0
		? []
		: [...chosen, { name: "NODE_USE_ENV_PROXY", value: "1" }];
}
