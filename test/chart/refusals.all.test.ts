// In make test: tools/generate/chart/value-forms.test.ts
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { helm } from "../../tools/generate/chart/install-yaml.ts";
import {
	type ChartValue,
	readValues,
} from "../../tools/generate/chart/values.ts";
import { chart, examples, render } from "../support/chart/render.ts";

/* Values that can't work: the message names the path, the value and the right form. */

const tryOut = `--values=${examples.get("try-out")}`;

type Refusal = [setting: string, ...words: string[]];
const refusals: Refusal[] = [
	["nats.streamReplicas=3", "nats.streamReplicas is 3", "nats.replicas is 1"],
	[
		"receive.autoscaling.enabled=true,receive.autoscaling.minReplicas=20",
		"receive.autoscaling.minReplicas is 20",
		"maxReplicas is 10",
	],
	[
		"operator.watchNamespaces={shop,shop}",
		"operator.watchNamespaces",
		"shop",
		"twice",
	],
	[
		"operator.watchNamespaces={My_Shop}",
		"operator.watchNamespaces",
		"My_Shop",
		"DNS label",
	],
	["fullnameOverride=My_Name", "fullnameOverride", "My_Name", "DNS label"],
	[
		"receive.httpRoute.enabled=true,receive.url=https://a.example",
		"receive.httpRoute.parentRefs is []",
		"Gateways",
	],
	["api.httpRoute.enabled=true", "api.httpRoute.parentRefs is []", "Gateways"],
	[
		"notify.allowedNetworks={10.20.0.0}",
		"notify.allowedNetworks",
		"10.20.0.0",
		"10.20.0.0/16",
	],
	[
		"notify.allowedNetworks={10.20.0.0/33}",
		"notify.allowedNetworks",
		"10.20.0.0/33",
		"mask",
	],
	[
		"receive.service.type=LoadBalancer,receive.service.loadBalancerSourceRanges={fd00::}",
		"receive.service.loadBalancerSourceRanges",
		"fd00::",
		"mask",
	],
	["archive.scratchSize=4GB", "archive.scratchSize", "4GB", "16Gi"],
	["s3.storage.size=large", "s3.storage.size", "large", "16Gi"],
	[
		"receive.resources.limits.memory=1GB",
		"receive.resources.limits.memory",
		"1GB",
		"512Mi",
	],
	[
		"receive.resources.request.cpu=1",
		"receive.resources",
		"request",
		"claims or limits or requests",
	],
	["nats.resources.limits.cpus=1", "nats.resources.limits", "cpus", "Use cpu"],
	[
		"commonLabels.app\\.kubernetes\\.io/name=x",
		"commonLabels",
		"app.kubernetes.io/name",
		"key of your own",
	],
	[
		"receive.podLabels.tidemill\\.dev/shards=x",
		"receive.podLabels",
		"tidemill.dev/shards",
		"key of your own",
	],
	["receive.podLabels.team=a b", "receive.podLabels.team", "a b", "63 letters"],
	[
		"api.service.loadBalancerClass=x",
		"api.service.type",
		"ClusterIP",
		"LoadBalancer",
	],
	["api.service.nodePort=30080", "api.service.type", "ClusterIP", "NodePort"],
	["api.service.port=70000", "api.service.port is 70000", "1 to 65535"],
	[
		"notify.serviceAccount.create=false",
		"notify.serviceAccount.name",
		"Name the ServiceAccount",
	],
	[
		"receive.pdb.minAvailable=1,receive.pdb.maxUnavailable=1",
		"receive.pdb.minAvailable",
		"Set one of them",
	],
	["receive.pdb.minAvailable=half", "receive.pdb.minAvailable", "half", "50%"],
	[
		"api.extraEnv[0].name=A,api.extraEnv[1].name=A",
		"api.extraEnv",
		"A",
		"twice",
	],
	[
		"receive.ingress.extraHosts={a.example,a.example}",
		"receive.ingress.extraHosts",
		"a.example",
		"twice",
	],
	[
		"metrics.podMonitor.interval=often",
		"metrics.podMonitor.interval",
		"often",
		"30s",
	],
	[
		"tracing.endpoint=collector:4318",
		"tracing.endpoint",
		"collector:4318",
		"https://host.example.com",
	],
	[
		"tracing.endpoint=http://me:secret@collector",
		"tracing.endpoint is an address with a user or a password",
		"https://host.example.com",
	],
	[
		"api.ingress.host=https://api.example",
		"api.ingress.host",
		"https://api.example",
		"api.example.com",
	],
	[
		"api.httpRoute.hostnames={API.example}",
		"api.httpRoute.hostnames",
		"API.example",
		"in lower case",
	],
	["s3.port=99999", "s3.port is 99999", "1 to 65535"],
	[
		"nats.exporter.port=99999",
		"nats.exporter.port is 99999",
		"from 1 to 65535",
	],
	[
		"podSecurityContext.runAsUser=0",
		"podSecurityContext.runAsUser is 0",
		"from 1: no process runs as root",
	],
	[
		"podSecurityContext.runAsNonRoot=false",
		'podSecurityContext has the key "runAsNonRoot" with the value false',
		"runAsUser",
	],
	[
		"receive.pdb.minAvailable=2",
		"receive.pdb.minAvailable is 2 of 2 Pods",
		"maxUnavailable: 1",
	],
	[
		"receive.autoscaling.enabled=true,receive.pdb.minAvailable=100%",
		"receive.pdb.minAvailable is 100% of 2 Pods",
		"Use fewer",
	],
	[
		"archive.replicas=2,archive.pdb.minAvailable=4,shards=5,archive.streamMaxBytes=67108864",
		"archive.pdb.minAvailable is 4 of 4 Pods",
		"Use fewer",
	],
	...["metricsFrom", "receiveFrom", "apiFrom"].map(
		(from): Refusal => [
			`networkPolicies.${from}[0].ipBlock.cidr=10.1.2.3`,
			`networkPolicies.${from}[0].ipBlock.cidr is "10.1.2.3"`,
			"10.20.0.0/16",
		],
	),
	[
		"networkPolicies.metricsFrom[0].namespaceSelectors.a=b",
		'networkPolicies.metricsFrom[0] has the key "namespaceSelectors"',
		"ipBlock or namespaceSelector or podSelector",
	],
	[
		"receive.resources.requests.memory=2Gi",
		'receive.resources.requests.memory is "2Gi", but the limit is "1Gi"',
		"isn't above the limit",
	],
	[
		"nats.exporter.resources.limits.cpu=5m",
		'nats.exporter.resources.requests.cpu is "10m", but the limit is "5m"',
		"isn't above the limit",
	],
	[
		"api.tolerations[0].kee=a",
		'api.tolerations[0] has the key "kee" with the value "a"',
		"effect or key or operator",
	],
	[
		"api.tolerations[0].effect=Never",
		'api.tolerations[0].effect is "Never"',
		'"NoSchedule" or',
	],
	[
		"notify.affinity.nodesAffinity.a=b",
		'notify.affinity has the key "nodesAffinity"',
		"nodeAffinity or podAffinity",
	],
	[
		"archive.hostAliases[0].ip=example.com,archive.hostAliases[0].hostnames={a.example}",
		'archive.hostAliases[0].ip is "example.com"',
		"10.20.0.7",
	],
	[
		"archive.hostAliases[0].ip=10.0.0.1",
		"archive.hostAliases[0].hostnames is missing",
	],
	[
		"receive.trustedProxies={proxy.example}",
		'receive.trustedProxies[0] is "proxy.example"',
		"10.20.0.7 or 10.20.0.0/16",
	],
	[
		"api.trustedProxies={10.0.0.0/40}",
		'api.trustedProxies[0] is "10.0.0.0/40"',
		"10.20.0.7 or 10.20.0.0/16",
	],
	[
		"operator.bigQueryEndpoints={bigquery.example.com}",
		'operator.bigQueryEndpoints[0] is "bigquery.example.com"',
		"https://",
	],
	[
		"objectStore.caSecret=My_Secret",
		'objectStore.caSecret is "My_Secret"',
		"a name of Kubernetes",
	],
	[
		"imagePullSecrets[0].secret=a",
		'imagePullSecrets[0] has the key "secret"',
		"Use name",
	],
	["image.digest=sha256:abc", 'image.digest is "sha256:abc"', "64 hex digits"],
	[
		"nats.image.repository=Library/NATS",
		'nats.image.repository is "Library/NATS"',
		"lower case",
	],
	[
		"api.service.ipFamilies={IPv4,IPv6}",
		'api.service.ipFamilies is ["IPv4","IPv6"], but api.service.ipFamilyPolicy is ""',
		"PreferDualStack",
	],
	[
		"nats.service.ipFamilies={IPv5}",
		'nats.service.ipFamilies[0] is "IPv5"',
		'"IPv4" or "IPv6"',
	],
	[
		"receive.service.type=NodePort,api.service.type=NodePort,receive.service.nodePort=30080,api.service.nodePort=30080",
		"api.service.nodePort is 30080, and so is receive.service.nodePort",
		"a port for each",
	],
	[
		"receive.serviceAccount.name=one,api.serviceAccount.name=one",
		'api.serviceAccount.name is "one", and receive creates the ServiceAccount "one" as well',
		"Set create=false",
	],
	[
		"fullnameOverride=webhooks,notify.serviceAccount.name=webhooks-api",
		'and api creates the ServiceAccount "webhooks-api" as well',
		"two names",
	],
	[
		"metrics.podMonitor.enabled=true,metrics.serviceMonitor.enabled=true",
		"metrics.serviceMonitor.enabled is true, and so is metrics.podMonitor.enabled",
		"use one of them",
	],
	["receive=5", "receive is 5", "Use an object with"],
	[
		"receive.replicas=1.5",
		'receive.replicas is "1.5"',
		"a whole number from 1",
	],
	[
		"receive.podAnnotations.a=5",
		"receive.podAnnotations.a is 5",
		"in quotes if it looks like a number",
	],
	["tracing.ratio=2", "tracing.ratio is 2", "from 0 to 1"],
];

test.each(refusals)(
	"helm template and helm lint refuse %s",
	async (setting, ...words) => {
		const args = [tryOut, `--set=${setting}`];
		const template = await render(...args).then(String, String);
		const lint = await helm("lint", chart, ...args).then(() => "", String);
		// Lint puts the message in quotes.
		for (const said of [template, lint.replaceAll("\\", "")])
			for (const word of words) expect(said).toContain(word);
	},
);

test("what is allowed but only just, is allowed", async () => {
	for (const settings of [
		"archive.replicas=2,archive.pdb.minAvailable=3,shards=5,archive.streamMaxBytes=67108864",
		"api.serviceAccount.name=one,receive.serviceAccount.name=one,receive.serviceAccount.create=false",
		"receive.resources.requests.memory=1Gi,nats.exporter.resources.limits.cpu=10m",
		"receive.service.ipFamilies={IPv6,IPv4},receive.service.ipFamilyPolicy=RequireDualStack",
		"tracing.ratio=1,s3.port=65535,podSecurityContext.runAsUser=1",
		"receive.url=https://a.example/under/a/path,receive.podLabels.team=",
	])
		await render(tryOut, `--set=${settings}`);
});

test("a number or a group that is taken away is refused", async () => {
	// helm lint puts the chart's own back.
	for (const path of ["receive.replicas", "receive.service"])
		await expect(render(tryOut, `--set=${path}=null`)).rejects.toThrow(
			`- ${path} is null. Use `,
		);
});

test("all refusals are shown at once, those of one value and those of several", async () => {
	const settings =
		"receive.repicas=3,image.pullPolicy=x,nats.streamReplicas=3,api.ingress.enabled=true";
	const words = [
		"receive.repicas is 3",
		'image.pullPolicy is "x"',
		"nats.streamReplicas is 3",
		"api.ingress.host is empty",
	];
	const args = [tryOut, `--set=${settings}`];
	const template = await render(...args).then(String, String);
	expect(
		words.map(
			(word) =>
				template.split("\n").findIndex((line) => line.startsWith(`- ${word}`)) >
				0,
		),
	).toEqual(words.map(() => true));
	const lint = await helm("lint", chart, ...args).then(() => "", String);
	for (const word of words) expect(lint.replaceAll("\\", "")).toContain(word);
});

test("a wrong type of any value is refused by its path, the value and the right form", async () => {
	const leaves = (values: ChartValue[]): ChartValue[] =>
		values.flatMap((value) =>
			value.children ? leaves(value.children) : value,
		);
	const all = leaves(
		readValues(await readFile(join(chart, "values.yaml"), "utf8")),
	);
	expect(all.length).toBeGreaterThan(300);
	const wrongOf = (value: unknown) =>
		typeof value === "string" ? [7] : "\u00d7";
	const wrong = {};
	for (const { path, default: right } of all)
		setIn(wrong, path, wrongOf(right));
	const file = join(await mkdtemp(join(tmpdir(), "wrong-")), "values.yaml");
	await writeFile(file, JSON.stringify(wrong));
	const said = await render(`--values=${file}`).then(String, String);
	const lines = new Set(
		said.split("\n").map((line) => line.replace(/ Use .+$/, " Use")),
	);
	const missing = all
		.map(
			({ path, default: right }) =>
				`- ${path} is ${JSON.stringify(wrongOf(right))}. Use`,
		)
		.filter((line) => !lines.has(line));
	expect(missing).toEqual([]);
});

test("helm lint refuses what the older checks refuse, too", async () => {
	await expect(
		helm("lint", chart, tryOut, "--set=nats.url=tls://a.example"),
	).rejects.toThrow("Set nats.enabled=false");
});

test.each([
	"tracing.endpoint=http://me:secret@collector",
	"nats.enabled=false,nats.url=http://me:secret@collector",
	"api.env.PASSWORD[0]=secret",
	"api.extraEnv[0].name=A,api.extraEnv[0].value[0]=secret",
	"api.environment.PASSWORD=secret",
])("the refusal of %s doesn't repeat a password", async (setting) => {
	const args = [tryOut, `--set=${setting}`];
	await expect(render(...args)).rejects.not.toThrow("secret");
	await expect(helm("lint", chart, ...args)).rejects.not.toThrow("secret");
});

function setIn(object: Record<string, unknown>, path: string, value: unknown) {
	const keys = path.split(".");
	const last = keys.pop()!;
	let at = object;
	for (const key of keys) {
		at[key] ??= {};
		at = at[key] as Record<string, unknown>;
	}
	at[last] = value;
}
