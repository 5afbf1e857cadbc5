// On a laptop nothing proves this: Helm is built for minutes.
import { beforeAll, expect, test } from "vitest";
// yaml: reads YAML 1.2 to the letter.
import { stringify } from "yaml";
import { installYaml } from "../../tools/generate/chart/install-yaml.ts";
import {
	foreignDefinitions,
	foreignKinds,
} from "../support/chart/foreign-kinds.ts";
import {
	operatorRights,
	rights,
	rightsOf,
} from "../support/chart/operator-rights.ts";
import { examples, render } from "../support/chart/render.ts";
import type { Rendered } from "../support/chart/rendered.ts";
import { kubectl, kubectlDone } from "../support/servers/kubectl.ts";

/* The chart on a real apiserver: what it accepts, and what each ServiceAccount may do. */

const release = "tidemill-system";
const accounts = ["shop", "billing"];
beforeAll(async () => {
	// Kubernetes knows the chart's Ingress by itself, and its HTTPRoute, Certificate and monitors by these.
	const definitions = (await foreignDefinitions()).map(
		(file) => `--filename=${file}`,
	);
	await kubectlDone(["apply", "--server-side", ...definitions]);
	await kubectlDone([
		...["wait", "--for=condition=Established", "--timeout=60s"],
		...definitions,
	]);
	for (const namespace of [release, ...accounts])
		await kubectlDone(["create", "namespace", namespace]);
	const restricted = ["enforce", "warn"].map(
		(mode) => `pod-security.kubernetes.io/${mode}=restricted`,
	);
	await kubectlDone(["label", "namespace", release, ...restricted]);
	const objects = await render(`--values=${examples.get("aws")}`);
	await apply(
		objects.filter(({ kind }) =>
			/^(ServiceAccount|.*Role(Binding)?)$/.test(kind),
		),
	);
});

test.each([...examples])(
	"the apiserver accepts every object of the example %s",
	async (_, file) => {
		const objects = await render(`--values=${file}`);
		const answer = await apply(objects, "--dry-run=server");
		expect(answer.trim().split("\n")).toHaveLength(objects.length);
		// Such as a field that is deprecated, or a Pod that a policy would refuse.
		expect(answer).not.toMatch(/warning/i);
	},
);

test.each([...examples])(
	"a second server-side apply of the example %s changes nothing, and the apiserver keeps every field as it is",
	async (example, file) => {
		const namespace = `twice-${example}`;
		await kubectlDone(["create", "namespace", namespace]);
		const objects = (
			await render(
				`--values=${file}`,
				`--namespace=${namespace}`,
				// A new Deployment has one replica, so that the autoscaler has nothing to write.
				"--set=receive.autoscaling.minReplicas=1",
			)
		).filter(({ kind }) => kind !== "CustomResourceDefinition");
		// A difference would be one for ever to Argo CD and Flux.
		for (const _ of ["first", "second"]) await apply(objects);
		const before = await versions(objects);
		await apply(objects);
		expect(await versions(objects)).toEqual(before);
		const stored = await read(objects);
		for (const [i, object] of objects.entries())
			expect(differences(object, stored[i])).toEqual([]);
	},
);

test("the examples of values make an object of each kind of others", async () => {
	const objects = await Promise.all(
		[...examples.values()].map((file) => render(`--values=${file}`)),
	);
	const kinds = new Set(objects.flat().map(({ kind }) => kind));
	expect(foreignKinds.filter((kind) => !kinds.has(kind))).toEqual([]);
	expect(kinds).toContain("Ingress");
	expect(kinds).toContain("HorizontalPodAutoscaler");
});

test("the apiserver accepts install.yaml, which holds its namespace and nothing that Helm alone would remove", async () => {
	const text = await installYaml();
	const answer = await kubectlDone(
		["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f-"],
		text,
	);
	expect(answer).toContain(`namespace/${release} serverside-applied`);
	expect(answer).not.toContain("pod/");
});

test("manifests of another image are applied over a setup that still runs, and the same ones change nothing", async () => {
	const jobs = async (tag: string) =>
		(
			await render(
				`--values=${examples.get("try-out")}`,
				`--set=image.tag=${tag}`,
			)
		).filter(({ kind }) => kind === "Job");
	for (const tag of ["1.0.0", "1.0.1", "1.0.1"]) await apply(await jobs(tag));
	const names = await kubectlDone([
		...["get", "jobs", `--namespace=${release}`, "--output=name"],
		"--selector=app.kubernetes.io/component=setup",
	]);
	expect(names.trim().split("\n")).toHaveLength(2);
});

const named = (verb: string) => `/secrets: ${verb} by name`;

test.each<[string, string, string[]]>([
	["receive", release, []],
	["archive", release, []],
	["api", release, []],
	["notify", release, []],
	["nats", release, []],
	["receive", "shop", []],
	["archive", "shop", []],
	["api", "shop", []],
	["notify", "shop", []],
	[
		"operator",
		release,
		[...operatorRights.everywhere, ...operatorRights.lease],
	],
	[
		"operator",
		"shop",
		[...operatorRights.everywhere, ...operatorRights.inNamespace],
	],
	["operator", "default", operatorRights.everywhere],
	[
		"setup",
		release,
		[...rights("", "secrets", "create"), named("get"), named("patch")],
	],
	["setup", "shop", []],
])(
	"%s may do this in %s and nothing else",
	async (role, namespace, expected) => {
		const [everybody, own] = await Promise.all(
			["nobody", `tidemill-${role}`].map((name) =>
				permissions(name, namespace),
			),
		);
		expect(own).toEqual([...new Set([...everybody!, ...expected])].sort());
	},
);

/** All that kubectl said, its warnings included. */
async function apply(objects: Rendered[], ...flags: string[]): Promise<string> {
	const { exitCode, stdout, stderr } = await kubectl(
		["apply", "--server-side", "--force-conflicts", ...flags, "--filename=-"],
		objects.map((object) => stringify(object)).join("---\n"),
	);
	if (exitCode !== 0) throw new Error(stderr);
	return stdout + stderr;
}

/** The objects as the apiserver has them, in the same order. */
async function read(objects: Rendered[]): Promise<Rendered[]> {
	const text = await kubectlDone(
		["get", "--output=json", "--filename=-"],
		objects.map((object) => stringify(object)).join("---\n"),
	);
	return JSON.parse(text).items;
}

/** What changes with each write of the objects' makers. Controllers write the status of some, whose version counts that, too. */
async function versions(objects: Rendered[]): Promise<unknown[]> {
	return (await read(objects)).map(({ kind, metadata, ...rest }) => [
		kind,
		metadata.name,
		"status" in rest ? metadata.generation : metadata.resourceVersion,
	]);
}

/** Paths of the fields that the apiserver dropped or wrote otherwise. What it added is its own. */
function differences(wanted: unknown, stored: unknown, path = ""): string[] {
	if (typeof wanted !== "object" || wanted === null)
		return wanted === stored ? [] : [`${path}: ${wanted} → ${stored}`];
	if (typeof stored !== "object" || stored === null)
		return [`${path}: dropped`];
	return Object.entries(wanted).flatMap(([key, value]) =>
		differences(
			value,
			(stored as Record<string, unknown>)[key],
			`${path}.${key}`,
		),
	);
}

/** What `kubectl auth can-i --list` lists for a ServiceAccount of the release, one permission a line. */
async function permissions(
	serviceAccount: string,
	namespace: string,
): Promise<string[]> {
	const review = {
		apiVersion: "authorization.k8s.io/v1",
		kind: "SelfSubjectRulesReview",
		spec: { namespace },
	};
	const user = `system:serviceaccount:${release}:${serviceAccount}`;
	const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
	const answer = await kubectlDone(
		[
			...["create", `--raw=${path}`, "--filename=-", `--as=${user}`],
			...["system:serviceaccounts", "system:authenticated"].map(
				(group) => `--as-group=${group}`,
			),
		],
		JSON.stringify(review),
	);
	return rightsOf(JSON.parse(answer).status.resourceRules);
}
