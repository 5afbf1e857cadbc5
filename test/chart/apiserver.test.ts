import { beforeAll, expect, test } from "vitest";
// yaml: reads YAML 1.2 to the letter.
import { stringify } from "yaml";
import { installYaml } from "../../generate/chart/install-yaml.ts";
import { examples, type Rendered, render } from "../support/chart/render.ts";
import { kubectl, kubectlDone } from "../support/servers/kubectl.ts";

/* The chart on a real apiserver: what it accepts, and what each ServiceAccount may do. */

const release = "tidemill-system";
const accounts = ["shop", "billing"];
/** The apiserver of the tests doesn't know them. */
const foreign = [
	"Certificate",
	"HTTPRoute",
	"PodMonitor",
	"ServiceMonitor",
	"PrometheusRule",
];

beforeAll(async () => {
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
		const known = objects.filter(({ kind }) => !foreign.includes(kind));
		const answer = await apply(known, "--dry-run=server");
		expect(answer.trim().split("\n")).toHaveLength(known.length);
		// Such as a field that is deprecated, or a Pod that a policy would refuse.
		expect(answer).not.toMatch(/warning/i);
	},
);

test("the apiserver accepts install.yaml, which holds its namespace and nothing that Helm alone would remove", async () => {
	const text = await installYaml();
	const answer = await kubectlDone(
		["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f-"],
		text,
	);
	expect(answer).toContain(`namespace/${release} serverside-applied`);
	expect(answer).not.toContain("pod/");
});

const kinds = "destinations pipelines runs sources trackingplans";
const ownKinds = [
	...lines(
		"tidemill.dev",
		"destinations pipelines sources trackingplans",
		"get list patch update watch",
	),
	...lines("tidemill.dev", "runs", "create delete get list patch update watch"),
	...lines(
		"tidemill.dev",
		kinds.replaceAll(/\w+/g, "$&/status"),
		"get patch update",
	),
	...lines(
		"tidemill.dev",
		"destinations/finalizers pipelines/finalizers runs/finalizers sources/finalizers",
		"update",
	),
	...lines("", "namespaces", "get"),
];
const lease = lines(
	"coordination.k8s.io",
	"leases",
	"create get list patch update watch",
);
const inNamespace = [
	...lines("batch", "jobs", "create delete get list patch watch"),
	...lines("", "pods", "get list watch"),
	...lines("", "secrets", "create delete get list patch update watch"),
	...lines("", "persistentvolumeclaims serviceaccounts", "get list watch"),
	...lines("events.k8s.io", "events", "create patch update"),
];
const named = (verb: string) => `/secrets: ${verb} by name`;

test.each<[string, string, string[]]>([
	["receive", release, []],
	["archive", release, []],
	["api", release, []],
	["nats", release, []],
	["receive", "shop", []],
	["archive", "shop", []],
	["api", "shop", []],
	["operator", release, [...ownKinds, ...lease]],
	["operator", "shop", [...ownKinds, ...inNamespace]],
	["operator", "default", ownKinds],
	[
		"setup",
		release,
		[...lines("", "secrets", "create"), named("get"), named("patch")],
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

function lines(group: string, resources: string, verbs: string): string[] {
	return resources
		.split(" ")
		.flatMap((resource) =>
			verbs.split(" ").map((verb) => `${group}/${resource}: ${verb}`),
		);
}

interface Rule {
	apiGroups: string[];
	resources: string[];
	verbs: string[];
	resourceNames?: string[];
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
	const rules: Rule[] = JSON.parse(answer).status.resourceRules;
	const found = rules.flatMap(
		({ apiGroups, resources, verbs, resourceNames }) =>
			apiGroups.flatMap((group) =>
				lines(group, resources.join(" "), verbs.join(" ")).map((line) =>
					resourceNames ? `${line} by name` : line,
				),
			),
	);
	return [...new Set(found)].sort();
}
