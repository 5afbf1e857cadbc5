// On a laptop nothing proves this: Helm is built for minutes.
import { beforeAll, expect, test } from "vitest";
import { examples, render } from "../support/chart/render.ts";
import type {
	Labels,
	Peer,
	Rendered,
	Rule,
	Selector,
} from "../support/chart/rendered.ts";

/* Who may reach what, as https://kubernetes.io/docs/concepts/services-networking/network-policies/ says: all policies that select a Pod add up. */

const stranger = { namespace: "elsewhere", labels: { app: "stranger" } };

let objects: Rendered[];
let objectsOfTryOut: Rendered[];
let components: Map<string, Labels>;

beforeAll(async () => {
	objects = await render(
		`--values=${examples.get("try-out")}`,
		"--set=nats.replicas=3",
	);
	objectsOfTryOut = objects;
	components = new Map(
		objects
			.map((object) => object.spec?.template?.metadata?.labels as Labels)
			.filter(Boolean)
			.map((labels) => [labels["app.kubernetes.io/component"]!, labels]),
	);
});

test("a Pod of another namespace reaches receive, the API and the bundled store, and nothing else", () => {
	const reached = [...components.keys()].flatMap((name) =>
		ports(name, stranger).map((port) => `${name}:${port}`),
	);
	expect(reached.sort()).toEqual(["api:8090", "receive:8080", "s3:7070"]);
});

test("a stranger in the release's own namespace reaches no more than one elsewhere", () => {
	const neighbour = { ...stranger, namespace: "tidemill-system" };
	for (const name of components.keys())
		expect(ports(name, neighbour)).toEqual(ports(name, stranger));
});

test("only the roles and its reloader reach NATS, and only NATS its cluster's port", () => {
	const sorted = [...components].map(([name, labels]) => [
		name,
		ports("nats", { namespace: "tidemill-system", labels }),
	]);
	expect(Object.fromEntries(sorted)).toEqual({
		api: [4222],
		archive: [4222],
		nats: [4222, 6222],
		notify: [4222],
		operator: [4222],
		receive: [4222],
		s3: [],
		setup: [],
	});
});

test("notify reaches the internet, NATS and DNS, and nothing else of the cluster", () => {
	const rules = egressOf("notify")!;
	const blocks = rules
		.flatMap(({ to }) => to ?? [])
		.flatMap(({ ipBlock }) => ipBlock ?? []);
	expect(blocks.map(({ cidr }) => cidr)).toEqual(["0.0.0.0/0", "2000::/3"]);
	for (const network of ["10.0.0.0/8", "169.254.0.0/16", "127.0.0.0/8"])
		expect(blocks[0]!.except).toContain(network);
	const [dns, nats] = rules;
	expect(dns!.ports!.map(({ port }) => port)).toEqual([53, 53]);
	const reached = [...components.keys()].filter((name) =>
		nats!.to!.some(({ podSelector }) =>
			selects(podSelector!, components.get(name)!),
		),
	);
	expect([reached, nats!.ports!.map(({ port }) => port)]).toEqual([
		["nats"],
		[4222],
	]);
});

test("the Pod of helm test reaches receive and the API, whomever else they are open to", async () => {
	objects = await renderWith({
		networkPolicies: {
			receiveFrom: [{ namespaceSelector: { matchLabels: { a: "ingress" } } }],
			apiFrom: [{ namespaceSelector: { matchLabels: { a: "people" } } }],
		},
	});
	const pod = objects.find(({ kind }) => kind === "Pod")!.metadata;
	const tester = { namespace: "tidemill-system", labels: pod.labels as Labels };
	expect(ports("receive", tester)).toEqual([8080]);
	expect(ports("api", tester)).toEqual([8090]);
	expect(ports("receive", stranger)).toEqual([]);
});

test("DNS is asked on the port that the values name, by every Pod whose calls are bounded", async () => {
	objects = await renderWith({
		networkPolicies: { dnsPort: 5353, egress: { enabled: true } },
	});
	const bounded = [...components.keys()].filter((name) => egressOf(name));
	expect(bounded.sort()).toEqual([
		"api",
		"archive",
		"nats",
		"notify",
		"operator",
		"receive",
		"s3",
	]);
	for (const name of bounded.filter((each) => each !== "s3"))
		expect(egressOf(name)!.flatMap(({ ports = [] }) => ports)).toEqual(
			expect.arrayContaining([
				{ port: 5353, protocol: "UDP" },
				{ port: 5353, protocol: "TCP" },
			]),
		);
	expect(JSON.stringify(objects)).not.toMatch(/"port":53[,}]/);
});

test("with egress bounded, the operator reaches NATS, the store, https and what the values add, and receive no database", async () => {
	const database = { ports: [{ port: 5432 }] };
	objects = await renderWith({
		networkPolicies: { egress: { enabled: true, operator: [database] } },
	});
	const portsOf = (name: string) =>
		egressOf(name)!
			.flatMap(({ ports = [] }) => ports.map(({ port }) => port))
			.sort();
	expect(portsOf("operator")).toEqual([4222, 443, 53, 53, 5432, 6443, 7070]);
	expect(portsOf("receive")).toEqual([4222, 443, 53, 53, 6443, 7070]);
	expect(egressOf("operator")).toContainEqual(database);
	objects = objectsOfTryOut;
	for (const name of ["receive", "archive", "operator", "api"])
		expect(egressOf(name)).toBeUndefined();
});

test("no policy that names Prometheus opens more than the metrics", async () => {
	objects = await render(`--values=${examples.get("aws")}`);
	const prometheus = {
		namespace: "monitoring",
		labels: { app: "prometheus" },
	};
	expect(ports("archive", prometheus)).toEqual([8081]);
	expect(ports("nats", prometheus)).toEqual([]);
	expect(ports("archive", stranger)).toEqual([]);
});

test("Prometheus reaches NATS's exporter, and nobody else does", async () => {
	objects = await render(
		`--values=${examples.get("aws")}`,
		"--set=nats.exporter.enabled=true",
	);
	const prometheus = {
		namespace: "monitoring",
		labels: { app: "prometheus" },
	};
	expect(ports("nats", prometheus)).toEqual([7777]);
	expect(ports("archive", prometheus)).toEqual([8081]);
	expect(ports("nats", stranger)).toEqual([]);
});

test("the bundled store calls nobody", () => {
	const { policyTypes, egress } = objectsOfTryOut.find(
		({ kind, metadata }) =>
			kind === "NetworkPolicy" && metadata.name === "tidemill-s3",
	)!.spec;
	expect([policyTypes, egress]).toEqual([["Ingress", "Egress"], undefined]);
});

function renderWith(values: object): Promise<Rendered[]> {
	return render(
		`--values=${examples.get("try-out")}`,
		...Object.entries(values).map(
			([name, value]) => `--set-json=${name}=${JSON.stringify(value)}`,
		),
	);
}

/** What a component may call; undefined if nothing bounds it. */
function egressOf(component: string): Rule[] | undefined {
	const policies = objects.filter(
		({ kind, spec }) =>
			kind === "NetworkPolicy" &&
			spec.policyTypes.includes("Egress") &&
			selects(spec.podSelector, components.get(component)!),
	);
	if (policies.length === 0) return undefined;
	return policies.flatMap(({ spec }) => spec.egress ?? []);
}

/** The ports of a component that a Pod reaches; all Pods of the release are selected by a policy. */
function ports(
	component: string,
	from: { namespace: string; labels: Labels },
): number[] {
	const policies = objects.filter(
		({ kind, spec }) =>
			kind === "NetworkPolicy" &&
			spec.policyTypes.includes("Ingress") &&
			selects(spec.podSelector, components.get(component)!),
	);
	expect(policies.length).toBeGreaterThan(0);
	const rules: Rule[] = policies.flatMap(({ spec }) => spec.ingress ?? []);
	return rules
		.filter(
			(rule) =>
				rule.from === undefined || rule.from.some((peer) => isPeer(peer, from)),
		)
		.flatMap((rule) => rule.ports!.map(({ port }) => port))
		.sort();
}

function isPeer(
	{ podSelector, namespaceSelector }: Peer,
	{ namespace, labels }: { namespace: string; labels: Labels },
): boolean {
	const inNamespace = namespaceSelector
		? selects(namespaceSelector, { "kubernetes.io/metadata.name": namespace })
		: namespace === "tidemill-system";
	return inNamespace && (!podSelector || selects(podSelector, labels));
}

function selects(
	{ matchLabels = {}, matchExpressions = [] }: Selector,
	labels: Labels,
): boolean {
	return (
		Object.entries(matchLabels).every(
			([name, value]) => labels[name] === value,
		) &&
		matchExpressions.every(({ key, values }) => values.includes(labels[key]!))
	);
}
