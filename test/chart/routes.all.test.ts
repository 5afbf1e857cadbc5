// On a laptop nothing proves this: Helm is built for minutes.
import { expect, test } from "vitest";
import { examples, render } from "../support/chart/render.ts";
import type { Rendered } from "../support/chart/rendered.ts";

/* How requests reach receive and the API: Services, Ingresses, HTTPRoutes. */

const tryOut = `--values=${examples.get("try-out")}`;
const url = "--set=receive.url=https://hooks.example.com";

async function specs(kind: string, ...args: string[]) {
	const objects = await render(tryOut, url, ...args);
	return new Map(
		objects
			.filter((object) => object.kind === kind)
			.map(({ metadata, spec }) => [metadata.name, spec]),
	);
}

const ingress = async (part: string, ...settings: string[]) => {
	const args = ["enabled=true", ...settings].map(
		(setting) => `--set=${part}.ingress.${setting}`,
	);
	const host = "--set=api.ingress.host=api.example.com";
	return (await specs("Ingress", host, ...args)).get(`tidemill-${part}`)!;
};

test.each([
	["receive", "hooks.example.com", "/hooks"],
	["api", "api.example.com", "/"],
])(
	"the Ingress of %s has TLS for its host and path",
	async (part, host, path) => {
		expect(await ingress(part)).toEqual({
			tls: [{ hosts: [host], secretName: `tidemill-${part}-tls` }],
			rules: [
				{
					host,
					http: {
						paths: [
							{
								path,
								pathType: "Prefix",
								backend: {
									service: { name: `tidemill-${part}`, port: { number: 80 } },
								},
							},
						],
					},
				},
			],
		});
	},
);

test.each(["receive", "api"])(
	"where TLS ends before the Ingress of %s, it has no block tls",
	async (part) => {
		expect(await ingress(part, "tls=false")).not.toHaveProperty("tls");
	},
);

test.each(["receive", "api"])(
	"the Ingress of %s serves more hosts, which share its certificate or have one of their own",
	async (part) => {
		const { rules, tls } = await ingress(
			part,
			"extraHosts={two.example.org,three.example.org}",
			"extraTls[0].hosts={three.example.org}",
			"extraTls[0].secretName=three",
			"tlsSecretName=shared",
		);
		const [{ host: first, http }, ...others] = rules;
		expect(others).toEqual([
			{ host: "two.example.org", http },
			{ host: "three.example.org", http },
		]);
		expect(tls).toEqual([
			{ hosts: [first, "two.example.org"], secretName: "shared" },
			{ hosts: ["three.example.org"], secretName: "three" },
		]);
	},
);

test("an Ingress has the path and the path's type that its controller wants", async () => {
	const { rules } = await ingress(
		"receive",
		"path=/hooks/*",
		"pathType=ImplementationSpecific",
	);
	expect(rules[0].http.paths[0]).toMatchObject({
		path: "/hooks/*",
		pathType: "ImplementationSpecific",
	});
});

test("receive's HTTPRoute serves more hosts", async () => {
	const routes = await specs(
		"HTTPRoute",
		"--set=receive.httpRoute.enabled=true",
		"--set=receive.httpRoute.parentRefs[0].name=public",
		"--set=receive.httpRoute.extraHostnames={hooks.example.org}",
	);
	expect(routes.get("tidemill-receive")!.hostnames).toEqual([
		"hooks.example.com",
		"hooks.example.org",
	]);
});

test.each(["receive", "api"])(
	"the Service of %s has what a cloud's load balancer needs",
	async (part) => {
		const services = await specs(
			"Service",
			...[
				"type=LoadBalancer",
				"loadBalancerClass=service.k8s.aws/nlb",
				"loadBalancerSourceRanges={203.0.113.0/24}",
				"ipFamilyPolicy=RequireDualStack",
				"ipFamilies={IPv6,IPv4}",
				"externalTrafficPolicy=Local",
			].map((setting) => `--set=${part}.service.${setting}`),
		);
		expect(services.get(`tidemill-${part}`)).toMatchObject({
			type: "LoadBalancer",
			loadBalancerClass: "service.k8s.aws/nlb",
			loadBalancerSourceRanges: ["203.0.113.0/24"],
			ipFamilyPolicy: "RequireDualStack",
			ipFamilies: ["IPv6", "IPv4"],
			externalTrafficPolicy: "Local",
		});
	},
);

test("a Service says nothing of what people left open", async () => {
	const services = await specs("Service");
	expect(services.get("tidemill-receive")).toEqual({
		type: "ClusterIP",
		selector: expect.anything(),
		ports: [{ name: "http", port: 80, targetPort: "http" }],
	});
});

test("the Services of NATS and of the store have both families of addresses, if people want", async () => {
	const services = await specs(
		"Service",
		"--set=nats.service.ipFamilyPolicy=PreferDualStack",
		"--set=s3.service.ipFamilies={IPv6}",
	);
	for (const name of ["tidemill-nats", "tidemill-nats-headless"])
		expect(services.get(name)).toMatchObject({
			ipFamilyPolicy: "PreferDualStack",
		});
	expect(services.get("tidemill-s3")).toMatchObject({ ipFamilies: ["IPv6"] });
});

test("labels and annotations of Services and routes are on them alone", async () => {
	const on = (group: string) => [
		`--set=receive.${group}.labels.example\\.com/a=${group}`,
		`--set=receive.${group}.annotations.example\\.com/b=${group}`,
	];
	const objects: Rendered[] = await render(
		tryOut,
		url,
		"--set=receive.ingress.enabled=true",
		"--set=receive.httpRoute.enabled=true",
		"--set=receive.httpRoute.parentRefs[0].name=public",
		...on("service"),
		...on("ingress"),
		...on("httpRoute"),
	);
	const marked = objects
		.filter(({ metadata }) => metadata.labels?.["example.com/a"])
		.map(({ kind, metadata }) => [
			kind,
			metadata.name,
			metadata.labels!["example.com/a"],
			metadata.annotations!["example.com/b"],
		]);
	expect(marked.sort()).toEqual([
		["HTTPRoute", "tidemill-receive", "httpRoute", "httpRoute"],
		["Ingress", "tidemill-receive", "ingress", "ingress"],
		["Service", "tidemill-receive", "service", "service"],
	]);
});

test("the cluster states each host name of the API to everybody, and no pattern", async () => {
	const stated = async (...args: string[]) =>
		(await render(tryOut, url, ...args)).filter(({ metadata }) =>
			metadata.name.endsWith("-api-address"),
		);
	expect(await stated()).toEqual([]);
	const hosts = [
		"--set=api.ingress.host=api.example.com",
		"--set=api.ingress.extraHosts={api.example.org}",
		"--set=api.httpRoute.hostnames={*.example.com}",
		"--set=api.console.hosts={api.example.com,LB.example.com}",
	];
	const [role, binding] = await stated(...hosts);
	expect(role).toMatchObject({
		kind: "ClusterRole",
		metadata: { name: "tidemill-system:tidemill-api-address" },
		rules: [
			{
				apiGroups: ["tidemill.dev"],
				resources: ["apis"],
				resourceNames: ["api.example.com", "api.example.org", "lb.example.com"],
				verbs: ["use"],
			},
		],
	});
	expect(binding).toMatchObject({
		kind: "ClusterRoleBinding",
		roleRef: { kind: "ClusterRole", name: role!.metadata.name },
		subjects: [{ kind: "Group", name: "system:authenticated" }],
	});
	expect(await stated(...hosts, "--set=rbac.create=false")).toEqual([]);
});
