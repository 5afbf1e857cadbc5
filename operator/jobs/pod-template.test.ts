import { expect, test } from "vitest";
import { type PodTemplate, runKind } from "../../crds/generated/types.ts";
import { runOf } from "../../test/support/examples/resource-examples.ts";
import { chosenEnv, jobWithInput, podTemplateProblem } from "./template.ts";

const nothing = { labels: [], annotations: [], priorityClasses: [] };

function jobOf(pod: PodTemplate) {
	const labels = { "tidemill.dev/run": "r" };
	return jobWithInput(
		{
			kind: runKind,
			owner: runOf("r"),
			jobName: "r",
			secretName: "r-input",
			labels,
		},
		{
			version: 1,
			account: "shop",
			destination: { type: "DuckDB", path: "events.duckdb" },
		},
		{ command: "load", image: "tidemill:1", retries: 2, pod },
	);
}

const podOf = (pod: PodTemplate) => jobOf(pod).job.spec!.template;

test("labels and annotations are on the Job and its Pods, and ours win", () => {
	const { job, secret } = jobOf({
		labels: { "sidecar.istio.io/inject": "false", "tidemill.dev/run": "other" },
		annotations: { "linkerd.io/inject": "disabled" },
	});
	for (const { metadata } of [job, job.spec!.template])
		expect(metadata).toMatchObject({
			labels: { "sidecar.istio.io/inject": "false", "tidemill.dev/run": "r" },
			annotations: { "linkerd.io/inject": "disabled" },
		});
	expect(secret.metadata.labels).toEqual({ "tidemill.dev/run": "r" });
});

test("where the Pod runs, and what pulls its image, is as people choose", () => {
	const chosen: PodTemplate = {
		nodeSelector: { disk: "fast" },
		tolerations: [{ key: "dedicated", operator: "Exists" }],
		affinity: {
			nodeAffinity: {
				requiredDuringSchedulingIgnoredDuringExecution: {
					nodeSelectorTerms: [
						{ matchExpressions: [{ key: "zone", operator: "Exists" }] },
					],
				},
			},
		},
		imagePullSecrets: [{ name: "registry" }],
		priorityClassName: "batch",
	};
	expect(podOf(chosen).spec).toMatchObject(chosen);
	const linux = { "kubernetes.io/os": "linux" };
	expect(podOf({}).spec?.nodeSelector).toEqual(linux);
});

test("a proxy reaches the container as text, and Node is set to use it", () => {
	const env = [{ name: "HTTPS_PROXY" as const, value: "http://proxy:3128" }];
	expect(podOf({ env }).spec!.containers[0]!.env).toEqual(
		expect.arrayContaining([
			{ name: "HTTPS_PROXY", value: "http://proxy:3128" },
			{ name: "NODE_USE_ENV_PROXY", value: "1" },
		]),
	);
	expect(JSON.stringify(podOf({}))).not.toContain("NODE_USE_ENV_PROXY");
	// The value that Node would take for https, and none for http.
	const all = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"];
	for (const [n, name] of all.entries())
		expect(
			chosenEnv({
				env: all.slice(0, n + 1).map((name) => ({ name, value: name })),
			} as PodTemplate),
		).toEqual([
			{ name: "HTTPS_PROXY", value: name },
			{ name: "NODE_USE_ENV_PROXY", value: "1" },
		]);
	expect(
		chosenEnv({ env: [{ name: "NO_PROXY", value: "*.example" }] }),
	).toEqual([]);
});

test("what an earlier CRD let in doesn't reach the container with the key", () => {
	const env = [
		{ name: "NODE_OPTIONS", value: "--require /evil.js" },
		{
			name: "HTTP_PROXY",
			value: "http://proxy:3128",
			valueFrom: { secretKeyRef: { name: "others", key: "key" } },
		},
	];
	const template = { env, hostNetwork: true } as unknown as PodTemplate;
	const text = JSON.stringify(podOf(template));
	for (const word of ["NODE_OPTIONS", "valueFrom", "hostNetwork"])
		expect(text).not.toContain(word);
});

test.each([
	"sidecar.istio.io/proxyImage",
	"sidecar.istio.io/userVolumeMount",
	"vault.hashicorp.com/agent-inject-command-x",
	"config.linkerd.io/proxy-image",
	"k8s.v1.cni.cncf.io/networks",
	"example.com/team",
])("the annotation %s needs an administrator's word", (key) => {
	const template = { annotations: { [key]: "x" } };
	expect(podTemplateProblem(template, nothing, "spec.runTemplate")).toEqual({
		reason: "AnnotationNotAllowed",
		message: `spec.runTemplate.annotations has "${key}", which the operator's setting TIDEMILL_JOB_ANNOTATIONS does not allow. Remove it, or ask an administrator to allow it.`,
	});
	for (const allowed of [key, `${key.split("/")[0]}/*`])
		expect(
			podTemplateProblem(
				template,
				{ ...nothing, annotations: [allowed] },
				"spec.runTemplate",
			),
		).toBeUndefined();
});

test.each([
	"app",
	"app.kubernetes.io/name",
	"azure.workload.identity/use",
	"kueue.x-k8s.io/queue-name",
	"tidemill.dev.example/team",
])(
	"the label %s, by which a Service may select the Pod, needs an administrator's word",
	(key) => {
		const template = { labels: { [key]: "payments" } };
		expect(podTemplateProblem(template, nothing, "spec.runTemplate")).toEqual({
			reason: "LabelNotAllowed",
			message: `spec.runTemplate.labels has "${key}", which the operator's setting TIDEMILL_JOB_LABELS does not allow. Remove it, or ask an administrator to allow it.`,
		});
		// An annotation that is allowed allows no label.
		const annotations = [key];
		expect(
			podTemplateProblem(template, { ...nothing, annotations }, "x"),
		).toMatchObject({ reason: "LabelNotAllowed" });
		for (const allowed of [key, `${key.slice(0, 3)}*`])
			expect(
				podTemplateProblem(template, { ...nothing, labels: [allowed] }, "x"),
			).toBeUndefined();
	},
);

test("a sidecar may be turned off without an administrator", () => {
	const keys = {
		"sidecar.istio.io/inject": "false",
		"linkerd.io/inject": "disabled",
	};
	const template = { labels: keys, annotations: keys };
	expect(podTemplateProblem(template, nothing, "x")).toBeUndefined();
});

test("a priority that can evict others needs an administrator's word", () => {
	const template = { priorityClassName: "system-cluster-critical" };
	expect(podTemplateProblem(template, nothing, "spec.runTemplate")).toEqual({
		reason: "PriorityClassNotAllowed",
		message:
			'spec.runTemplate.priorityClassName is "system-cluster-critical", which the operator\'s setting TIDEMILL_JOB_PRIORITY_CLASSES does not allow. Remove it, or ask an administrator to allow it.',
	});
	const priorityClasses = ["system-cluster-critical"];
	const allowing = { ...nothing, priorityClasses };
	expect(podTemplateProblem(template, allowing, "x")).toBeUndefined();
});

test("a template that is longer than the operator holds is refused, and one that was cut", () => {
	const long = { nodeSelector: { pool: "x".repeat(40_000) } };
	const problem = {
		reason: "TemplateTooLarge",
		message: expect.stringContaining("32768 is the most"),
	};
	expect(podTemplateProblem(long, nothing, "x")).toEqual(problem);
	expect(podTemplateProblem({ tooLong: 40_000 }, nothing, "x")).toEqual(
		problem,
	);
	const usual = { nodeSelector: { pool: "x".repeat(30_000) } };
	expect(podTemplateProblem(usual, nothing, "x")).toBeUndefined();
});
