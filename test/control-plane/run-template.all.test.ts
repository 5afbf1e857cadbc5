// In make test: operator/jobs/template.test.ts
import { expect, test, vi } from "vitest";
import {
	type Pipeline,
	type PipelineSpec,
	pipelineKind,
} from "../../crds/generated/types.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { applyYaml } from "../support/fixtures/control-plane/apply-yaml.ts";
import {
	client,
	container,
	RunScene,
	succeeded,
	wait,
} from "../support/fixtures/control-plane/run-scene.ts";

/*
 * Jobs in a namespace of other people's: it enforces the restricted Pod Security Standard, with quotas and limits, and
 * other software injects containers. The apiserver decides, with the admission that it has by default.
 */

const scene = RunScene.use({
	isCluster: true,
	namespaceLabels: { "pod-security.kubernetes.io/enforce": "restricted" },
});

test("a Run's Pod is as runTemplate says, in a namespace that enforces restricted, a quota and limits", async () => {
	const { namespace } = scene;
	await applyYaml(
		namespace,
		`apiVersion: v1
kind: ResourceQuota
metadata: { name: all }
spec: { hard: { requests.cpu: "2", limits.memory: 4Gi, count/pods: "3" } }
---
apiVersion: v1
kind: LimitRange
metadata: { name: usual }
spec:
  limits:
    - type: Container
      default: { memory: 1Gi, cpu: "1" }
      defaultRequest: { memory: 256Mi, cpu: 250m }
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: { name: batch }
value: -1`,
	);
	const chosen = {
		nodeSelector: { disk: "fast" },
		tolerations: [
			{ key: "dedicated", operator: "Equal" as const, value: "loads" },
		],
		affinity: {
			nodeAffinity: {
				requiredDuringSchedulingIgnoredDuringExecution: {
					nodeSelectorTerms: [
						{
							matchExpressions: [
								{ key: "zone", operator: "In" as const, values: ["a"] },
							],
						},
					],
				},
			},
		},
		imagePullSecrets: [{ name: "registry" }],
		priorityClassName: "batch",
	};
	const marks = {
		labels: { "sidecar.istio.io/inject": "false" },
		annotations: { "linkerd.io/inject": "disabled" },
	};
	await scene.createPipeline("p", {
		runTemplate: {
			...chosen,
			...marks,
			env: [{ name: "HTTPS_PROXY", value: "http://proxy.example:3128" }],
			activeDeadlineSeconds: 3600,
			retries: 0,
		},
	});
	await scene.createRun("r", "p");
	const pod = await vi.waitFor(() => scene.podOf("r"), wait);
	expect(pod.metadata).toMatchObject(marks);
	expect(pod.spec).toMatchObject({
		...chosen,
		tolerations: expect.arrayContaining(chosen.tolerations),
		priority: -1,
	});
	expect(pod.spec?.containers[0]).toMatchObject({
		resources: {
			requests: { memory: "256Mi", cpu: "250m" },
			limits: { memory: "1Gi", cpu: "1" },
		},
		env: expect.arrayContaining([
			{ name: "HTTPS_PROXY", value: "http://proxy.example:3128" },
		]),
	});
	await scene.endPod("r", 0, succeeded);
	await scene.phaseBecomes("r", "Succeeded");
});

test("a Run ends when its own process does, though an injected sidecar goes on", async () => {
	await scene.createPipeline("p");
	await scene.createRun("meshed", "p");
	const { metadata } = await vi.waitFor(() => scene.podOf("meshed"), wait);
	await scene.setPodStatus(metadata.name, {
		phase: "Running",
		containerStatuses: [
			{
				...container,
				name: "istio-proxy",
				ready: true,
				state: { running: { startedAt: metadata.creationTimestamp } },
			},
			{
				...container,
				state: {
					terminated: { exitCode: 0, message: JSON.stringify(succeeded) },
				},
			},
		],
	});
	await scene.phaseBecomes("meshed", "Succeeded");
	expect((await scene.statusOfRun("meshed")).rows).toBe(329);
	await vi.waitFor(async () => {
		const { namespace } = scene;
		expect(await client.get(kinds.job, "meshed", namespace)).toBeUndefined();
		const pod = await client.get(kinds.pod, metadata.name, namespace);
		// No kubelet is here to end the sidecar.
		expect(pod === undefined || pod.metadata.deletionTimestamp).toBeTruthy();
	}, wait);
});

test("a Pipeline that asks for what only an administrator may allow is not Ready, and says so", async () => {
	const reasonOf = async (name: string) => {
		const { namespace } = scene;
		const found = await client.get<Pipeline>(pipelineKind, name, namespace);
		return findCondition(found?.status?.conditions, "Ready")?.reason;
	};
	const rest = { activeDeadlineSeconds: 3600, retries: 0 };
	await scene.createPipeline("image", {
		runTemplate: {
			...rest,
			annotations: { "sidecar.istio.io/proxyImage": "evil:1" },
		},
	});
	await scene.createPipeline("payments", {
		runTemplate: { ...rest, labels: { app: "payments" } },
		table: { name: "payments", columns: ["Body"], onIncompatible: "Fail" },
	});
	await scene.createPipeline("first", {
		runTemplate: { ...rest, priorityClassName: "system-node-critical" },
		table: { name: "other", columns: ["Body"], onIncompatible: "Fail" },
	});
	await vi.waitFor(async () => {
		expect(await reasonOf("image")).toBe("AnnotationNotAllowed");
		expect(await reasonOf("payments")).toBe("LabelNotAllowed");
		expect(await reasonOf("first")).toBe("PriorityClassNotAllowed");
	}, wait);
});

/** The condition Ready of a Pipeline. */
async function readyOf(name: string) {
	const { namespace } = scene;
	const found = await client.get<Pipeline>(pipelineKind, name, namespace);
	return findCondition(found?.status?.conditions, "Ready");
}

const template = { activeDeadlineSeconds: 3600, retries: 0 };

test.each<[string, Partial<PipelineSpec["runTemplate"]>, RegExp]>([
	["label", { labels: { team: "a b" } }, /labels.*"a b"/],
	["key", { labels: { "my team": "a" } }, /labels.*"my team"/],
	["selector", { nodeSelector: { disk: "very fast" } }, /"very fast"/],
	[
		"request",
		{ resources: { requests: { cpu: 2 }, limits: { cpu: 1 } } },
		/requests.*must be less than or equal to cpu limit/,
	],
	[
		"toleration",
		{ tolerations: [{ key: "a b", operator: "Exists" }] },
		/tolerations.*"a b"/,
	],
])(
	"a template whose %s Kubernetes refuses is told at the Pipeline, until it is corrected",
	async (name, wrong, words) => {
		await scene.createPipeline(name, {
			table: { name, columns: ["Body"], onIncompatible: "Fail" },
			runTemplate: { ...template, ...wrong },
		});
		await vi.waitFor(async () => {
			expect(await readyOf(name)).toMatchObject({
				status: "False",
				reason: "JobRefused",
				message: expect.stringMatching(words),
			});
		}, wait);
		await scene.createPipeline(name, {
			table: { name, columns: ["Body"], onIncompatible: "Fail" },
			runTemplate: template,
		});
		await vi.waitFor(async () => {
			expect(await readyOf(name)).toMatchObject({ status: "True" });
		}, wait);
		const { namespace } = scene;
		expect((await client.list(kinds.job, { namespace })).items).toEqual([]);
	},
);

test("a policy of the namespace that refuses Jobs is told at the Pipeline, and so is its end", async () => {
	const { namespace } = scene;
	const name = `no-jobs-${namespace}`;
	await applyYaml(
		namespace,
		`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: { name: ${name} }
spec:
  matchConstraints:
    resourceRules:
      - { apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs] }
  validations:
    - expression: "has(object.metadata.labels) && 'cost-centre' in object.metadata.labels"
      message: each Job needs a cost centre
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: { name: ${name} }
spec:
  policyName: ${name}
  validationActions: [Deny]
  matchResources:
    namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: ${namespace} } }`,
	);
	const withLabels = (labels: Record<string, string>) =>
		scene.createPipeline("costly", {
			table: { name: "costly", columns: ["Body"], onIncompatible: "Fail" },
			runTemplate: { ...template, labels },
		});
	// The apiserver takes a moment to know the policy.
	let tries = 0;
	await vi.waitFor(async () => {
		await withLabels({ try: String(tries++) });
		expect(await readyOf("costly")).toMatchObject({
			reason: "JobRefused",
			message: expect.stringContaining("each Job needs a cost centre"),
		});
	}, wait);
	await withLabels({ "cost-centre": "7" });
	await vi.waitFor(async () => {
		expect(await readyOf("costly")).toMatchObject({ status: "True" });
	}, wait);
});

test("a quota of Jobs is told at the Pipeline, and so is its end", async () => {
	const quota = (jobs: number) =>
		applyYaml(
			scene.namespace,
			`apiVersion: v1
kind: ResourceQuota
metadata: { name: jobs }
spec: { hard: { count/jobs.batch: "${jobs}" } }`,
		);
	// Each time another Job, or an answer that was there before would be believed for an hour.
	let tries = 0;
	const readyBecomes = (expected: object) =>
		vi.waitFor(async () => {
			await scene.createPipeline("counted", {
				table: { name: "counted", columns: ["Body"], onIncompatible: "Fail" },
				runTemplate: { ...template, labels: { try: String(tries++) } },
			});
			expect(await readyOf("counted")).toMatchObject(expected);
		}, wait);
	await quota(0);
	await readyBecomes({
		reason: "JobRefused",
		message: expect.stringContaining("exceeded quota: jobs"),
	});
	await quota(100);
	await readyBecomes({ status: "True" });
});

test("a Run whose Pod the namespace refuses says where to read why", async () => {
	const { namespace } = scene;
	await applyYaml(
		namespace,
		`apiVersion: v1
kind: LimitRange
metadata: { name: small }
spec: { limits: [{ type: Container, max: { memory: 2Gi } }] }`,
	);
	await scene.createPipeline("large", {
		table: { name: "large", columns: ["Body"], onIncompatible: "Fail" },
		runTemplate: {
			...template,
			resources: { requests: { memory: "3Gi" }, limits: { memory: "3Gi" } },
		},
	});
	await scene.createRun("large-run", "large");
	await vi.waitFor(async () => {
		const { conditions } = await scene.statusOfRun("large-run");
		expect(findCondition(conditions, "Complete")).toMatchObject({
			reason: "PodWaiting",
			message: expect.stringContaining(
				`kubectl describe job large-run --namespace ${namespace}`,
			),
		});
	}, wait);
});

test("a variable that would reach the Destination's key is refused at admission", async () => {
	const withEnv = (variable: object) =>
		scene.createPipeline("evil", {
			runTemplate: { env: [variable], activeDeadlineSeconds: 60, retries: 0 },
		} as unknown as Partial<PipelineSpec>);
	await expect(
		withEnv({ name: "NODE_OPTIONS", value: "--require=/evil.js" }),
	).rejects.toThrow(
		'spec.runTemplate.env[0].name: Unsupported value: "NODE_OPTIONS"',
	);
	const valueFrom = { secretKeyRef: { name: "others", key: "token" } };
	await expect(withEnv({ name: "HTTP_PROXY", valueFrom })).rejects.toThrow(
		"env",
	);
});
