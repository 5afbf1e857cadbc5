import { expect, test } from "vitest";
import { helm } from "../../tools/generate/chart/helm.ts";
import { chart, examples, render } from "../support/chart/render.ts";

/* Values that can't work: the message names the path, the value and the right form. */

const tryOut = `--values=${examples.get("try-out")}`;

const refusals: [setting: string, ...words: string[]][] = [
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
		"requests, limits or claims",
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
	[
		"receive.podLabels.team=a b",
		"receive.podLabels[team]",
		"a b",
		"63 letters",
	],
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
		"tracing.endpoint has a user or a password",
		"an address alone",
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
];

test.each(refusals)(
	"helm template and helm lint refuse %s",
	async (setting, ...words) => {
		const args = [tryOut, `--set=${setting}`];
		const template = await render(...args).then(String, String);
		const lint = await helm("lint", chart, ...args).then(() => "", String);
		for (const said of [template, lint])
			for (const word of words) expect(said).toContain(word);
	},
);

test("helm lint refuses what the older checks refuse, too", async () => {
	await expect(
		helm("lint", chart, tryOut, "--set=nats.url=tls://a.example"),
	).rejects.toThrow("Set nats.enabled=false");
});

test("a refusal doesn't repeat a password", async () => {
	const args = [tryOut, "--set=tracing.endpoint=http://me:secret@collector"];
	await expect(render(...args)).rejects.not.toThrow("secret");
	await expect(helm("lint", chart, ...args)).rejects.not.toThrow("secret");
});
