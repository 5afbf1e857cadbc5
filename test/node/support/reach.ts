import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { loadFirewall } from "../cluster/node.ts";
import { locateNodeHome } from "../cluster/node-home.ts";
import {
	type Cluster,
	firewallRules,
	type NetworkPolicy,
	type Pod,
} from "../network-policy/rules.ts";
import { get } from "./cluster.ts";
import { runPod, scriptPod } from "./pod.ts";

/**
 * Lets the node's firewall enforce the NetworkPolicies as they are now: its network plugin knows none, and no plugin that does
 * can be built from what a Go module proxy has. Returns what ends that.
 */
export async function enforceNetworkPolicies(): Promise<() => Promise<void>> {
	const all = async <T>(kind: string) =>
		(await get<{ items: T[] }>(kind, "--all-namespaces")).items;
	const rules = firewallRules({
		policies: await all<NetworkPolicy>("networkpolicies"),
		pods: await all<Pod>("pods"),
		namespaces: await all<Cluster["namespaces"][number]>("namespaces"),
	});
	await load(rules.text);
	return () => load(rules.end);
}

async function load(rules: string): Promise<void> {
	const home = locateNodeHome();
	const file = join(home.config, "network-policies.rules");
	await writeFile(file, rules);
	await loadFirewall(home, file);
}

/** Which of these `host:port` a Pod of a namespace can connect to. */
export async function reachable(
	targets: string[],
	namespace: string,
	podName: string,
): Promise<string[]> {
	const script = `
		import { connect } from "node:net";
		for (const target of ${JSON.stringify(targets)}) {
			const [host, port] = target.split(":");
			const socket = connect({ host, port });
			const isOpen = await new Promise((resolve) => {
				socket.setTimeout(5_000, () => resolve(false));
				socket.on("connect", () => resolve(true));
				socket.on("error", () => resolve(false));
			});
			socket.destroy();
			if (isOpen) console.log(target);
		}
	`;
	const log = await runPod(podName, namespace, scriptPod(script));
	return log.split("\n").filter(Boolean);
}
