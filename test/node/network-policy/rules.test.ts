import { expect, test } from "vitest";
import {
	type Cluster,
	firewallRules,
	type NetworkPolicy,
	type Pod,
} from "./rules.ts";

const pod = (namespace: string, app: string, podIP: string): Pod => ({
	metadata: { namespace, labels: { app } },
	status: { podIP },
});
const shop = { name: "shop", labels: { team: "shop" } };
const cluster = (...policies: NetworkPolicy["spec"][]): Cluster => ({
	policies: policies.map((spec) => ({
		metadata: { namespace: "system" },
		spec,
	})),
	pods: [
		pod("system", "server", "10.0.0.1"),
		pod("system", "client", "10.0.0.2"),
		pod("shop", "client", "10.0.0.3"),
	],
	namespaces: [{ metadata: { name: "system" } }, { metadata: shop }],
});
const server = { matchLabels: { app: "server" } };
const rulesOf = (...policies: NetworkPolicy["spec"][]) =>
	firewallRules(cluster(...policies))
		.text.split("\n")
		.filter((line) => line.startsWith("-A NP-"));

test("a Pod that no policy selects is open", () => {
	expect(rulesOf()).toEqual([]);
});

test("a policy without rules closes its Pods in that direction only", () => {
	const closed = { podSelector: server, policyTypes: ["Ingress" as const] };
	expect(rulesOf(closed)).toEqual(["-A NP-Ingress-0 -j REJECT"]);
});

test.each([
	["everybody", undefined, ["0.0.0.0/0"]],
	[
		"Pods of its own namespace",
		[{ podSelector: {} }],
		["10.0.0.1", "10.0.0.2"],
	],
	[
		"Pods of a namespace",
		[{ namespaceSelector: { matchLabels: { team: "shop" } } }],
		["10.0.0.3"],
	],
	[
		"some Pods of all namespaces",
		[
			{
				namespaceSelector: {},
				podSelector: {
					matchExpressions: [
						{ key: "app", operator: "In", values: ["client"] },
					],
				},
			},
		],
		["10.0.0.2", "10.0.0.3"],
	],
	["a network", [{ ipBlock: { cidr: "10.1.0.0/16" } }], ["10.1.0.0/16"]],
	[
		"a network but for parts of it",
		[
			{
				ipBlock: {
					cidr: "10.1.0.0/16",
					except: ["10.1.0.0/18", "10.1.192.0/18"],
				},
			},
			{ ipBlock: { cidr: "::/0", except: ["fc00::/7"] } },
		],
		["10.1.64.0/18", "10.1.128.0/18"],
	],
])("%s may come in", (_, from, addresses) => {
	const open = {
		podSelector: server,
		policyTypes: ["Ingress" as const],
		ingress: [{ ...(from && { from }), ports: [{ port: 80 }] }],
	};
	expect(rulesOf(open)).toEqual([
		...addresses.map(
			(address) => `-A NP-Ingress-0 -s ${address} -p tcp --dport 80 -j RETURN`,
		),
		"-A NP-Ingress-0 -j REJECT",
	]);
});
