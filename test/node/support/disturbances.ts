import { expect, vi } from "vitest";
import { readState } from "../../../local/machine/home.ts";
import { killContainer, killProgram } from "../cluster/node.ts";
import { locateNodeHome } from "../cluster/node-home.ts";
import { get, kubectlWith } from "./cluster.ts";
import {
	inSystem,
	podsOf,
	rolledOut,
	systemNamespace,
} from "./installation.ts";

/** Deletes Pods, as a person or an autoscaler of nodes may; settles when others have taken their place. */
export async function deletePods(pods: string[]): Promise<void> {
	const component = await inSystem(
		"get",
		"pod",
		pods[0]!,
		"--output=jsonpath={.metadata.labels.app\\.kubernetes\\.io/component}",
	);
	await inSystem("delete", "pod", ...pods);
	await rolledOut(await workloadOf(component));
}

/** Evicts a component's Pods one by one as `kubectl drain` does: a refusal for a disruption budget's sake is repeated. */
export async function evictPods(component: string): Promise<void> {
	for (const name of await podsOf(component))
		await vi.waitFor(
			() =>
				kubectlWith(
					JSON.stringify({
						apiVersion: "policy/v1",
						kind: "Eviction",
						metadata: { name, namespace: systemNamespace },
					}),
					"create",
					`--raw=/api/v1/namespaces/${systemNamespace}/pods/${name}/eviction`,
					"--filename=-",
				),
			{ timeout: 120_000, interval: 500 },
		);
	await rolledOut(await workloadOf(component));
	await untilPodsAre(component, undefined);
}

/** Scales a Deployment; settles when no Pod too many or too few is left, also none that is stopping. */
export async function scale(component: string, replicas: number) {
	const workload = await workloadOf(component);
	await inSystem("scale", `--replicas=${replicas}`, workload);
	await rolledOut(workload);
	await untilPodsAre(component, replicas);
}

/** Kills kubelet, whose supervisor starts it again; settles when it answers. */
export async function restartKubelet(): Promise<void> {
	const home = locateNodeHome();
	const pid = () =>
		readState<{ name: string; pid: number }[]>(home.programs)?.find(
			({ name }) => name === "kubelet",
		)?.pid;
	const before = pid();
	await killProgram(home, "kubelet");
	const [pod] = await podsOf("receive");
	await vi.waitFor(
		async () => {
			expect(pid()).not.toBe(before);
			// The apiserver asks kubelet for it.
			await inSystem("logs", "--tail=1", pod!);
		},
		{ timeout: 60_000, interval: 250 },
	);
}

/** Kills the leading operator, which keeps its Lease; settles when another one leads. Returns how long that took. */
export async function killLeader(): Promise<number> {
	const holder = async () => {
		const { items } = await get<{ items: { spec: Lease }[] }>(
			"leases",
			`--namespace=${systemNamespace}`,
		);
		const names = items.map(({ spec }) => spec.holderIdentity);
		return names.find((name) => name.includes("-operator-"))!;
	};
	const leader = await holder();
	const pods = await podsOf("operator");
	const pod = pods.find((name) => leader.includes(name))!;
	const { status } = await get<{
		status: { containerStatuses: { containerID: string }[] };
	}>(`pod/${pod}`, `--namespace=${systemNamespace}`);
	const startedMs = performance.now();
	await killContainer(
		locateNodeHome(),
		status.containerStatuses[0]!.containerID,
	);
	await vi.waitFor(async () => expect(await holder()).not.toBe(leader), {
		timeout: 60_000,
		interval: 250,
	});
	return (performance.now() - startedMs) / 1000;
}

interface Lease {
	holderIdentity: string;
}

/** `deployment.apps/tidemill-receive`, say. */
async function workloadOf(component: string): Promise<string> {
	const names = await inSystem(
		"get",
		"deployments,statefulsets",
		`--selector=app.kubernetes.io/component=${component}`,
		"--output=name",
	);
	return names.trim().split("\n")[0]!;
}

/** Waits until none is stopping any more. */
async function untilPodsAre(component: string, count: number | undefined) {
	await vi.waitFor(
		async () => {
			const running = await podsOf(component);
			const all = await inSystem(
				"get",
				"pods",
				`--selector=app.kubernetes.io/component=${component}`,
				"--output=name",
			);
			expect(all.trim().split("\n").filter(Boolean)).toHaveLength(
				count ?? running.length,
			);
		},
		{ timeout: 120_000, interval: 250 },
	);
}
