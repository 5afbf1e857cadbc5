import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { pinnedBinaries } from "../local/binaries/pinned.ts";
import { deepParts } from "./lanes/deep-parts.ts";

const root = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const workflows = globSync(".github/workflows/*.yaml", { cwd: root });

interface Workflow {
	env?: Record<string, string>;
	permissions?: Record<string, string>;
	jobs: Record<
		string,
		{
			permissions?: Record<string, string>;
			"timeout-minutes"?: number;
			strategy?: { matrix: { minor?: string[]; part?: string[] } };
			needs?: string | string[];
			/** Another workflow, in place of steps. */
			uses?: string;
			outputs?: Record<string, string>;
			steps?: {
				uses?: string;
				run?: string;
				env?: Record<string, string>;
				with?: Record<string, unknown>;
			}[];
		}
	>;
}

const parsed = workflows.map((file) => parse(read(file)) as Workflow);
const jobs = parsed.flatMap((workflow) => Object.values(workflow.jobs));
const steps = jobs.flatMap((job) => job.steps ?? []);

test("every action is pinned by its commit, with the version beside it", () => {
	const lines = workflows.flatMap((file) =>
		read(file)
			.split("\n")
			.filter((line) => line.includes("uses:"))
			// Of this repository, at the same commit.
			.filter((line) => !line.includes("uses: ./")),
	);
	expect(lines).toHaveLength(steps.filter(({ uses }) => uses).length);
	for (const line of lines)
		expect(line).toMatch(
			/uses: [\w-]+(\/[\w-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/,
		);
});

test("a workflow may do no more than it says, and ends", () => {
	for (const { permissions } of parsed)
		expect([{}, { contents: "read" }]).toContainEqual(permissions);
	for (const job of jobs)
		if (!job.uses) expect(job["timeout-minutes"]).toBeGreaterThan(0);
	// The token is for the steps that name it, not for every program in the folder.
	for (const { uses, ...step } of steps)
		if (uses?.startsWith("actions/checkout@"))
			expect(step.with?.["persist-credentials"]).toBe(false);
});

test("each push runs make test and make test-all, and each night every part of make test-deep", () => {
	const { jobs } = parse(read(".github/workflows/test.yaml")) as Workflow;
	const runs = Object.values(jobs).flatMap(({ steps: all = [] }) =>
		all.map(({ run = "" }) => run),
	);
	expect(runs).toContain("make test");
	expect(runs.filter((run) => run.endsWith(" make test-all"))).toHaveLength(1);
	const deep = parse(read(".github/workflows/deep.yaml")) as Workflow;
	expect(deep.jobs.part!.strategy!.matrix.part!.toSorted()).toEqual(
		Object.keys(deepParts).sort(),
	);
	expect(deep.jobs.part!.steps!.at(-1)!.run).toBe(
		'make test-deep PART="$PART"',
	);
});

test("the image is scanned, and the packages of the program, which no scanner sees in a bundle", () => {
	const { jobs } = parse(read(".github/workflows/scan.yaml")) as Workflow;
	const scanned = jobs.image!.steps!;
	const scans = scanned.filter(({ uses }) =>
		uses?.startsWith("anchore/scan-action@"),
	);
	expect(scans.map((step) => step.with)).toMatchObject([
		{ image: "tidemill:dev", "severity-cutoff": "high" },
		{ sbom: "packages.cdx.json", "severity-cutoff": "high" },
	]);
	// They fail the job unless they are told otherwise.
	for (const step of scans) expect(step.with).not.toHaveProperty("fail-build");
	expect(scanned.map(({ run }) => run)).toContain("make image");
});

test("nothing is released before all tests have passed, and the scan", () => {
	const release = parse(read(".github/workflows/release.yaml")) as Workflow;
	const { test: tests, ecosystem, scan, ...others } = release.jobs;
	expect(tests?.uses).toBe("./.github/workflows/test.yaml");
	expect(scan?.uses).toBe("./.github/workflows/scan.yaml");
	expect(ecosystem?.steps?.at(-1)?.run).toBe(
		'make test-deep PART="test-ecosystem schemathesis"',
	);
	const waitsFor = (name: string, awaited: string): boolean =>
		[release.jobs[name]?.needs ?? []]
			.flat()
			.some((need) => need === awaited || waitsFor(need, awaited));
	for (const name of Object.keys(others))
		for (const awaited of ["test", "ecosystem", "scan"])
			expect(waitsFor(name, awaited), `${name} waits for ${awaited}`).toBe(
				true,
			);
});

test("the signed image is made of the very images that have run, since tags can move", () => {
	const { jobs } = parse(read(".github/workflows/release.yaml")) as Workflow;
	const { outputs = {}, steps: built = [] } = jobs.image!;
	const tried = built.findIndex(({ run }) => run?.includes("docker run"));
	const handedOn = built.findIndex(
		({ run }) => run === 'echo "$ARCH=$DIGEST" >> "$GITHUB_OUTPUT"',
	);
	expect(handedOn).toBeGreaterThan(tried);
	expect(built[handedOn]!.env!.DIGEST).toBe(built[tried]!.env!.DIGEST);
	const create = jobs.index!.steps!.find(({ run }) =>
		run?.includes("imagetools create"),
	)!;
	expect(create.run).toMatch(
		/imagetools create --tag "\$image" "\$IMAGE@\$AMD64" "\$IMAGE@\$ARM64"$/m,
	);
	for (const arch of ["amd64", "arm64"]) {
		expect(outputs[arch]).toBe(`\${{ steps.digest.outputs.${arch} }}`);
		expect(create.env![arch.toUpperCase()]).toBe(
			`\${{ needs.image.outputs.${arch} }}`,
		);
	}
});

test("the image is built by a builder of one digest, and a release's tools are those of one version", () => {
	const { jobs, env = {} } = parse(
		read(".github/workflows/release.yaml"),
	) as Workflow;
	const { outputs, steps: found = [] } = jobs.builder!;
	const step = found.at(-1)!;
	expect(step.run).toContain("image=$(tools/image/builder-digest.sh)\n");
	expect(outputs!.image).toBe(`\${{ steps.digest.outputs.image }}`);
	const builds = jobs.image!.steps!.filter(({ uses }) =>
		uses?.startsWith("docker/build-push-action@"),
	);
	expect(builds).toHaveLength(1);
	expect(builds[0]!.with!["build-args"]).toMatch(
		/^BUILDER=\$\{\{ needs\.builder\.outputs\.image \}\}$/m,
	);
	const all = Object.values(jobs).flatMap(({ steps: own = [] }) => own);
	const settingsOf = (action: string) =>
		all.filter(({ uses }) => uses?.startsWith(action)).map((one) => one.with);
	const version = expect.stringMatching(/^v\d+\.\d+\.\d+$/);
	// BuildKit is one digest, too, which the first job has found.
	expect(step.run).toMatch(
		/buildkit=\$\(tools\/image\/builder-digest\.sh moby\/buildkit:v[\d.]+\)$/m,
	);
	expect(outputs!.buildkit).toBe(`\${{ steps.digest.outputs.buildkit }}`);
	const buildkit = `image=\${{ needs.builder.outputs.buildkit }}`;
	expect(settingsOf("docker/setup-buildx-action@")).toEqual([
		{ version, driver: "docker" },
		{ version, "driver-opts": buildkit },
		{ version, "driver-opts": buildkit },
	]);
	// Its action compares no digest.
	for (const { steps: own = [] } of Object.values(jobs))
		for (const [i, { uses }] of own.entries())
			if (uses?.startsWith("docker/setup-buildx-action@"))
				expect(own[i + 1]!.run).toBe(
					'sha256sum "$HOME/.docker/cli-plugins/docker-buildx" | grep -E "^($BUILDX) "',
				);
	expect(env.BUILDX).toMatch(/^[0-9a-f]{64}\|[0-9a-f]{64}$/);
	expect(settingsOf("sigstore/cosign-installer@")).toHaveLength(2);
	for (const settings of settingsOf("sigstore/cosign-installer@"))
		expect(settings).toEqual({
			"cosign-release": version,
		});
	const wheels = all.filter(({ run }) => run?.includes("pip wheel"));
	expect(wheels.map(({ env }) => env)).toEqual([
		{ PIP_CONSTRAINT: "clients/build-constraints.txt" },
	]);
	const pins = read("clients/build-constraints.txt").split("\n").slice(1, -1);
	expect(pins.filter((line) => !/^[\w-]+==[\d.]+$/.test(line))).toEqual([]);
	const runs = jobs.chart!.steps!.map(({ run = "" }) => run);
	const built = runs.findIndex((run) =>
		run.startsWith("go build -C local/modules/helm"),
	);
	expect(built).toBeGreaterThan(0);
	expect(runs.findIndex((run) => /^\s*helm /m.test(run))).toBeGreaterThan(
		built,
	);
});

test("a release's chart is the one that tells Artifact Hub what it has", () => {
	const { jobs } = parse(read(".github/workflows/release.yaml")) as Workflow;
	const runs = jobs.chart!.steps!.map(({ run = "" }) => run);
	const written = runs.indexOf("make release-chart");
	const packaged = runs.findIndex((run) => run.includes("helm package"));
	expect(written).toBeGreaterThan(0);
	expect(packaged).toBeGreaterThan(written);
	expect(runs[packaged]).toContain("helm package dist/chart --version");
});

test("nothing that a stranger chooses is part of a script", () => {
	// docs.github.com/en/actions, "Security hardening": an expression becomes code before the shell sees it.
	for (const { run = "" } of steps) expect(run).not.toContain("${{");
});

test("the tests run on every minor of Kubernetes that the chart and the changelog name", () => {
	const newest = pinnedBinaries["kube-apiserver"].version.replace(/\.\d+$/, "");
	const others = jobs.flatMap((job) => job.strategy?.matrix.minor ?? []);
	const minors = [...others, newest];
	expect(minors).toHaveLength(3);
	expect(parse(read("charts/tidemill/Chart.yaml")).kubeVersion).toBe(
		`>=${minors[0]}.0-0`,
	);
	expect(read("CHANGELOG.md")).toContain(
		`Kubernetes ${minors[0]}, ${minors[1]} and ${minors[2]}`,
	);
});
