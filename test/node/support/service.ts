import { once } from "node:events";
import { connect } from "node:net";
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
	await checkReach(host, port, name);
	return `http://${host}:${port}`;
}

async function checkReach(host: string, port: number, service: string) {
	const socket = connect({ host, port, timeout: 10_000 });
	socket.on("timeout", () => socket.destroy(new Error("no answer in 10 s")));
	try {
		await once(socket, "connect");
	} catch (error) {
		throw new Error(
			`This machine doesn't reach ${host}:${port}, the address of the Service ${service} (${(error as Error).message}). Give it a load balancer by a file of values that TIDEMILL_E2E_VALUES names, or run the tests where the cluster's Service addresses are reachable.`,
		);
	} finally {
		socket.destroy();
	}
}
