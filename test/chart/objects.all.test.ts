// On a laptop nothing proves this: Helm is built for minutes.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { resolveBinaries } from "../../local/binaries/resolve.ts";
import { helm } from "../../tools/generate/chart/install-yaml.ts";
import { foreignKinds } from "../support/chart/foreign-kinds.ts";
import {
	kindName,
	kubernetesVersions,
	schemaFolder,
	schemaLocation,
} from "../support/chart/kubernetes-schemas.ts";
import {
	chart,
	examples,
	render,
	renderText,
} from "../support/chart/render.ts";
import type { Labels, Rendered, Selector } from "../support/chart/rendered.ts";

test("helm lint has nothing to say", async () => {
	const values = [...examples.values()].map((file) => `--values=${file}`);
	for (const each of values)
		expect(await helm("lint", "--strict", chart, each)).toContain(
			"0 chart(s) failed",
		);
});

describe.each([...examples])("with the values of the example %s", (_, file) => {
	let objects: Rendered[];

	beforeAll(async () => {
		objects = await render(`--values=${file}`);
	});

	test.each(kubernetesVersions)(
		"every object is one of Kubernetes %s, without unknown fields",
		async (version) => {
			const asked = [`--values=${file}`, `--kube-version=${version}`];
			const folder = await schemaFolder(
				version,
				new Set((await render(...asked)).map((one) => kindName(one as never))),
			);
			const directory = await mkdtemp(join(tmpdir(), "chart-"));
			const manifests = join(directory, "all.yaml");
			await writeFile(manifests, await renderText(...asked));
			const { kubeconform } = await resolveBinaries(["kubeconform"]);
			const { stdout } = await promisify(execFile)(kubeconform, [
				"-strict",
				"-summary",
				`-schema-location=${join(folder, schemaLocation)}`,
				// The apiserver validates them by their makers' definitions.
				`-skip=${foreignKinds}`,
				manifests,
			]);
			expect(stdout).toMatch(/Invalid: 0, Errors: 0/);
		},
	);

	test("no name occurs twice", () => {
		const names = objects.map(
			({ kind, metadata }) =>
				`${kind} ${metadata.namespace ?? ""} ${metadata.name}`,
		);
		expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
	});

	test("no variable is set twice, which server-side apply refuses", () => {
		for (const container of objects.flatMap(containersOf)) {
			const names = (container.env ?? []).map(
				({ name }: { name: string }) => name,
			);
			expect(new Set(names).size).toBe(names.length);
		}
	});

	test("every variable of a process is one that it reads", () => {
		const pages = ["docs/reference/settings.md", "docs/s3.md"]
			.map((page) => readFileSync(join(chart, "../..", page), "utf8"))
			.join();
		const unknown = objects
			.filter(({ kind }) => kind === "Deployment")
			.flatMap(containersOf)
			.flatMap(({ env = [] }) => env.map(({ name }: { name: string }) => name))
			.filter((name) => !pages.includes(`\`${name}\``))
			// Node's and glibc's own.
			.filter(
				(name) => !/^(NODE_OPTIONS|NODE_EXTRA_CA_CERTS|MALLOC_\w+)$/.test(name),
			);
		expect(unknown).toEqual([]);
	});

	test("every Pod fits the restricted Pod Security Standard, and says what it needs", () => {
		for (const object of objects) {
			const pod = podOf(object);
			if (!pod) continue;
			expect(pod.securityContext).toMatchObject({
				runAsNonRoot: true,
				seccompProfile: { type: "RuntimeDefault" },
			});
			for (const container of containersOf(object)) {
				expect(container.securityContext).toEqual({
					allowPrivilegeEscalation: false,
					readOnlyRootFilesystem: true,
					capabilities: { drop: ["ALL"] },
				});
				expect(container.resources.requests.memory).toBeDefined();
				expect(container.resources.limits.memory).toBeDefined();
			}
		}
	});

	test("only operator and setup mount a Kubernetes token", () => {
		const withToken = objects.filter(
			(object) => podOf(object)?.automountServiceAccountToken !== false,
		);
		expect(
			withToken
				.filter(podOf)
				.map(({ metadata }) => metadata.labels!["app.kubernetes.io/component"]!)
				.filter((name) => !["operator", "setup"].includes(name)),
		).toEqual([]);
	});

	test("no secret value is part of a manifest, so two renderings are the same", async () => {
		expect(objects.map(({ kind }) => kind)).not.toContain("Secret");
		expect(await render(`--values=${file}`)).toEqual(objects);
	});

	test("every object carries the recommended labels", () => {
		const own = objects.filter(({ kind }) => kind !== "Certificate");
		for (const { kind, metadata } of own)
			expect([kind, metadata.labels]).toEqual([
				kind,
				expect.objectContaining({
					"app.kubernetes.io/instance": "tidemill",
					"app.kubernetes.io/managed-by": "Helm",
					"app.kubernetes.io/part-of": "tidemill",
				}),
			]);
	});

	test("every Service and policy selects Pods of this release", () => {
		const pods = objects.map(
			({ metadata, spec }) =>
				spec?.template?.metadata?.labels ?? metadata.labels ?? {},
		);
		const selectors = objects.flatMap(({ kind, spec }) =>
			kind === "Service"
				? [spec.selector as Labels]
				: ["NetworkPolicy", "PodDisruptionBudget"].includes(kind)
					? [(spec.podSelector ?? (spec.selector as Selector)).matchLabels!]
					: [],
		);
		for (const selector of selectors)
			expect(
				pods.some((labels) =>
					Object.entries(selector).every(
						([name, value]) => labels[name] === value,
					),
				),
			).toBe(true);
	});
});

function podOf({ kind, spec }: Rendered) {
	return kind === "Pod" ? spec : spec?.template?.spec;
}

function containersOf(object: Rendered) {
	const pod = podOf(object);
	return [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
}
