import { once } from "node:events";
import { connect } from "node:net";
import { vi } from "vitest";
import { get } from "./cluster.ts";

/** A Service's URL for this machine: its load balancer's address if it has one, else its own, which must be reachable. */
export async function serviceURL(
	name: string,
	namespace: string,
): Promise<string> {
	const { spec, status } = await get<{
		spec: { clusterIP: string; ports: { port: number }[] };
		status: {
			loadBalancer: { ingress?: { ip?: string; hostname?: string }[] };
		};
	}>(`service/${name}`, `--namespace=${namespace}`);
	const outside = status.loadBalancer.ingress?.[0];
	const host = outside?.ip ?? outside?.hostname ?? spec.clusterIP;
	const { port } = spec.ports[0]!;
	try {
		await vi.waitFor(() => tryConnection(host, port), {
			timeout: 60_000,
			interval: 200,
		});
	} catch (error) {
		throw new Error(
			`This machine doesn't reach ${host}:${port}, the address of the Service ${name} (${(error as Error).message}). Give it a load balancer by a file of values that TIDEMILL_E2E_VALUES names, or run the tests where the cluster's Service addresses are reachable.`,
		);
	}
	return `http://${host}:${port}`;
}

/**
 * Opens a connection and closes it. Throws if there is no answer in a second: one that was begun before the node's rules of the
 * Service were there is never answered, since the kernel sends all of its packets where it sent the first. A new one is.
 */
async function tryConnection(host: string, port: number) {
	const socket = connect({ host, port, timeout: 1_000 });
	socket.on("timeout", () => socket.destroy(new Error("no answer in 1 s")));
	try {
		await once(socket, "connect");
	} finally {
		socket.destroy();
	}
}
