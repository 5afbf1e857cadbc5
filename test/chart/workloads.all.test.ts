// On a laptop nothing proves this: Helm is built for minutes.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
// yaml: writes YAML 1.2 to the letter.
import { stringify } from "yaml";
import { examples, render } from "../support/chart/render.ts";
import type { Rendered } from "../support/chart/rendered.ts";

/* What people set for the Pods of each component, all by the same names. */

const workloads = [
	"receive",
	"archive",
	"operator",
	"api",
	"notify",
	"nats",
	"s3",
];
/** And the Job that runs once. */
const withPods = [...workloads, "setup"];

const tryOut = `--values=${examples.get("try-out")}`;

/** The chart with the same values for each of these components. */
async function renderEach(
	components: string[],
	values: object,
	...args: string[]
): Promise<Rendered[]> {
	const file = join(await mkdtemp(join(tmpdir(), "values-")), "values.yaml");
	const each = components.map((component) => [component, values]);
	await writeFile(file, stringify(Object.fromEntries(each)));
	return render(tryOut, `--values=${file}`, ...args);
}

function podOf(objects: Rendered[], component: string) {
	const template = objects.find(
		({ spec }) =>
			spec?.template?.metadata?.labels?.["app.kubernetes.io/component"] ===
			component,
	)!.spec.template;
	return { ...template.spec, metadata: template.metadata! };
}

const ofKind = (objects: Rendered[], kind: string) =>
	objects.filter((object) => object.kind === kind);

const own = {
	extraEnv: [
		{ name: "LOG_LEVEL", value: "debug" },
		{
			name: "NATS_URL",
			valueFrom: { secretKeyRef: { name: "own", key: "url" } },
		},
		{ name: "ROOT_ACCESS_KEY", value: "$(LOG_LEVEL)" },
	],
	extraVolumes: [{ name: "certificates", configMap: { name: "company" } }],
	extraVolumeMounts: [{ name: "certificates", mountPath: "/etc/company" }],
};
const scheduling = {
	runtimeClassName: "gvisor",
	hostAliases: [{ ip: "10.0.0.7", hostnames: ["collector"] }],
	dnsPolicy: "None",
	dnsConfig: { nameservers: ["10.0.0.53"] },
	priorityClassName: "high",
	nodeSelector: { disk: "ssd" },
	tolerations: [{ key: "dedicated", operator: "Exists" }],
};

test.each(withPods)(
	"%s takes variables, volumes and mounts of one's own beside the chart's",
	async (component) => {
		const [before, objects] = await Promise.all([
			render(tryOut),
			renderEach(withPods, own),
		]);
		const pod = podOf(objects, component);
		const [container] = pod.containers;
		const [unchanged] = podOf(before, component).containers;
		const names = container.env.map(({ name }) => name);
		expect(new Set(names).size).toBe(names.length);
		expect(container.env.slice(-3)).toEqual(own.extraEnv);
		const set = new Set(own.extraEnv.map(({ name }) => name));
		const kept = (unchanged.env ?? []).filter(({ name }) => !set.has(name));
		expect(container.env.slice(0, -3)).toEqual(kept);
		expect(container.volumeMounts).toEqual(
			expect.arrayContaining([
				...unchanged.volumeMounts,
				...own.extraVolumeMounts,
			]),
		);
		expect(pod.volumes).toContainEqual(own.extraVolumes[0]);
	},
);

test.each(withPods)(
	"%s's Pods go where people say, with the names that they resolve",
	async (component) => {
		const objects = await renderEach(withPods, scheduling);
		expect(podOf(objects, component)).toMatchObject(scheduling);
	},
);

test("every Pod is Linux's, whatever else its node must be", async () => {
	const linux = { "kubernetes.io/os": "linux" };
	const chosen = await renderEach(withPods, scheduling);
	for (const component of withPods)
		expect(podOf(chosen, component).nodeSelector).toEqual({
			...linux,
			...scheduling.nodeSelector,
		});
	const objects = await render(tryOut);
	for (const component of withPods)
		expect(podOf(objects, component).nodeSelector).toEqual(linux);
});

test("probes and the number of former revisions are as the values say", async () => {
	const objects = await render(
		tryOut,
		"--set=revisionHistoryLimit=0",
		"--set=probes.liveness.failureThreshold=20",
		"--set=probes.readiness.timeoutSeconds=9",
	);
	const owners = [
		...ofKind(objects, "Deployment"),
		...ofKind(objects, "StatefulSet"),
	];
	for (const { spec } of owners) expect(spec.revisionHistoryLimit).toBe(0);
	const [container] = podOf(objects, "receive").containers;
	expect(container).toMatchObject({
		livenessProbe: { failureThreshold: 20, periodSeconds: 10 },
		readinessProbe: { timeoutSeconds: 9, periodSeconds: 3 },
	});
	const unset = ofKind(await render(tryOut), "Deployment");
	for (const { spec } of unset)
		expect(spec).not.toHaveProperty("revisionHistoryLimit");
});

test("each process of Tidemill asks for room on its node's disk, so that none is evicted for what it writes", async () => {
	const objects = await render(tryOut);
	for (const component of ["receive", "archive", "operator", "api", "notify"])
		expect(podOf(objects, component).containers[0]!.resources).toMatchObject({
			requests: { "ephemeral-storage": expect.stringMatching(/^\d+[MG]i$/) },
		});
});

test("the Pod of helm test goes where setup's goes", async () => {
	const objects = await renderEach(["setup"], scheduling);
	expect(ofKind(objects, "Pod")[0]!.spec).toMatchObject(scheduling);
});

test.each(workloads)(
	"a container of one's own beside %s is as restricted as ours, unless it says otherwise, and ours stays as it is",
	async (component) => {
		const containers = [
			{ name: "plain", image: "busybox" },
			{
				name: "chosen",
				image: "busybox",
				securityContext: {
					readOnlyRootFilesystem: false,
					capabilities: { add: ["NET_BIND_SERVICE"] },
				},
			},
		];
		const objects = await renderEach(workloads, {
			extraContainers: containers,
		});
		const pod = podOf(objects, component);
		const restricted = {
			allowPrivilegeEscalation: false,
			readOnlyRootFilesystem: true,
			capabilities: { drop: ["ALL"] },
		};
		const [ours, plain, chosen] = pod.containers;
		expect(ours.securityContext).toEqual(restricted);
		expect(plain).toEqual({ ...containers[0], securityContext: restricted });
		expect(chosen!.securityContext).toEqual({
			allowPrivilegeEscalation: false,
			readOnlyRootFilesystem: false,
			capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] },
		});
		expect(pod.securityContext).toMatchObject({ runAsNonRoot: true });
	},
);

test("labels and annotations of Pods win over those of all objects, without a key twice", async () => {
	const objects = await renderEach(
		withPods,
		{
			podLabels: { "example.com/team": "pods" },
			podAnnotations: {
				"example.com/note": "pods",
				"kubectl.kubernetes.io/default-container": "mine",
			},
		},
		"--set=commonLabels.example\\.com/team=all",
		"--set=commonAnnotations.example\\.com/note=all",
	);
	for (const component of withPods)
		expect(podOf(objects, component).metadata).toMatchObject({
			labels: { "example.com/team": "pods" },
			annotations: {
				"example.com/note": "pods",
				"kubectl.kubernetes.io/default-container": "mine",
			},
		});
});

test("every object carries the labels and annotations for all objects, hooks and tests included", async () => {
	for (const example of ["aws", "gateway-and-shards", "try-out"]) {
		const objects = await render(
			`--values=${examples.get(example)}`,
			"--set=commonLabels.example\\.com/cost=42x",
			"--set=commonAnnotations.example\\.com/note=all",
			"--set=metrics.dashboard.enabled=true",
		);
		for (const { kind, metadata } of objects)
			expect([kind, metadata.name, metadata]).toEqual([
				kind,
				metadata.name,
				expect.objectContaining({
					labels: expect.objectContaining({ "example.com/cost": "42x" }),
					annotations: expect.objectContaining({ "example.com/note": "all" }),
				}),
			]);
	}
});

test.each(withPods)(
	"%s's ServiceAccount has the name, labels and annotations that people give it",
	async (component) => {
		const objects = await renderEach(withPods, {
			serviceAccount: {
				annotations: { "example.com/role": "events" },
				labels: { "azure.workload.identity/use": "true" },
			},
		});
		const { metadata } = ofKind(objects, "ServiceAccount").find(
			({ metadata: { name } }) => name === `tidemill-${component}`,
		)!;
		expect(metadata.annotations).toHaveProperty(["example.com/role"], "events");
		expect(metadata.labels).toHaveProperty(
			["azure.workload.identity/use"],
			"true",
		);
	},
);

test.each(withPods)(
	"%s runs as a ServiceAccount of one's own, which the chart then doesn't create",
	async (component) => {
		const objects = await render(
			tryOut,
			`--set=${component}.serviceAccount.create=false`,
			`--set=${component}.serviceAccount.name=mine`,
		);
		expect(podOf(objects, component).serviceAccountName).toBe("mine");
		const accounts = ofKind(objects, "ServiceAccount");
		expect(accounts.map(({ metadata }) => metadata.name).sort()).toEqual(
			withPods
				.filter((other) => other !== component)
				.map((other) => `tidemill-${other}`)
				.sort(),
		);
		// What was allowed to the chart's account is allowed to this one.
		const subjects = objects
			.filter(({ kind }) => /RoleBinding$/.test(kind))
			.flatMap(({ subjects = [] }) => subjects.map(({ name }) => name));
		expect(subjects).not.toContain(`tidemill-${component}`);
		expect(subjects.includes("mine")).toBe(
			["operator", "setup"].includes(component),
		);
	},
);

test("a PodDisruptionBudget says what people want, and can be left out", async () => {
	const budgets = async (values: object) =>
		new Map(
			ofKind(
				await renderEach(
					workloads.filter((name) => name !== "s3"),
					values,
				),
				"PodDisruptionBudget",
			).map(({ metadata, spec: { selector: _, ...spec } }) => [
				metadata.name,
				spec,
			]),
		);
	expect((await budgets({})).get("tidemill-receive")).toEqual({
		maxUnavailable: 1,
		unhealthyPodEvictionPolicy: "AlwaysAllow",
	});
	const policy = "IfHealthyBudget";
	expect(
		(
			await budgets({
				replicas: 3,
				pdb: { minAvailable: "50%", unhealthyPodEvictionPolicy: policy },
			})
		).get("tidemill-nats"),
	).toEqual({ minAvailable: "50%", unhealthyPodEvictionPolicy: policy });
	expect(
		(await budgets({ pdb: { maxUnavailable: 2 } })).get("tidemill-archive"),
	).toMatchObject({ maxUnavailable: 2 });
	expect([...(await budgets({ pdb: { enabled: false } })).keys()]).toEqual([]);
});

let all: Rendered[];
beforeAll(async () => {
	all = await render(tryOut, "--set=nats.exporter.enabled=true");
});

test("every image comes from the registry that global.imageRegistry names, that of Runs' Jobs, too", async () => {
	const images = (objects: Rendered[]) =>
		objects
			.map((object) =>
				object.kind === "Pod" ? object.spec : object.spec?.template?.spec,
			)
			.filter(Boolean)
			.flatMap((pod) => [...(pod!.initContainers ?? []), ...pod!.containers])
			.flatMap(({ image, env = [] }) => [
				image,
				...env.flatMap(({ name, value }) =>
					name === "TIDEMILL_IMAGE" ? value! : [],
				),
			]);
	const mirrored = await render(
		tryOut,
		"--set=nats.exporter.enabled=true",
		"--set=global.imageRegistry=mirror.example.com:5000/hub",
	);
	expect(new Set(images(mirrored))).toEqual(
		new Set(
			images(all).map((image) =>
				image.replace(/^[^/]+/, "mirror.example.com:5000/hub"),
			),
		),
	);
	expect(new Set(images(all)).size).toBe(4);
});

test("Secrets for registries of the whole and of a parent chart add up", async () => {
	const objects = await render(
		tryOut,
		"--set=global.imagePullSecrets[0].name=parent",
		"--set=imagePullSecrets[0].name=own",
		"--set=imagePullSecrets[1].name=parent",
	);
	for (const component of withPods)
		expect(podOf(objects, component).imagePullSecrets).toEqual([
			{ name: "parent" },
			{ name: "own" },
		]);
});

test("the volumes of NATS and of the store stay or go as people say", async () => {
	const policies = async (...args: string[]) =>
		ofKind(await render(tryOut, ...args), "StatefulSet").map(
			({ spec }) => spec.persistentVolumeClaimRetentionPolicy,
		);
	const retained = { whenDeleted: "Retain", whenScaled: "Retain" };
	expect(await policies()).toEqual([retained, retained]);
	expect(
		await policies(
			"--set=nats.storage.retentionPolicy.whenDeleted=Delete",
			"--set=nats.storage.retentionPolicy.whenScaled=Delete",
			"--set=s3.storage.retentionPolicy.whenDeleted=Delete",
		),
	).toEqual([
		{ whenDeleted: "Delete", whenScaled: "Delete" },
		{ whenDeleted: "Delete", whenScaled: "Retain" },
	]);
});
