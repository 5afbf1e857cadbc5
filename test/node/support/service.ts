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
	return `http://${host}:${spec.ports[0]!.port}`;
}
