import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { pause } from "../../../../packages/service/pause.ts";

interface Backend {
	/** `http://host:port`, which gets the connections. */
	url: string;
	/** Its /readyz decides about new connections. */
	healthUrl: string;
}

const probeEveryMs = 50;
/** Long, because a busy machine must not count as a failure. */
const probeTimeoutMs = 60_000;

/**
 * Balances connections as a Kubernetes Service does: a new connection goes to one of the servers that were ready at their
 * last probe, in turns (kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-probes). An open connection
 * stays with its server (kubernetes.io/docs/reference/networking/virtual-ips).
 */
export class ServiceBalancer {
	readonly #server = createServer((client) => this.#forward(client));
	readonly #probing = new AbortController();
	readonly #sockets = new Set<Socket>();
	readonly #ready = new Set<Backend>();
	#turn = 0;
	port = 0;

	static async start(backends: readonly Backend[]): Promise<ServiceBalancer> {
		const balancer = new ServiceBalancer();
		await new Promise<void>((resolve) =>
			balancer.#server.listen(0, "127.0.0.1", resolve),
		);
		balancer.port = (balancer.#server.address() as AddressInfo).port;
		for (const backend of backends) void balancer.#probe(backend);
		return balancer;
	}

	/** Whether it gets new connections. */
	isReady(backend: Backend): boolean {
		return this.#ready.has(backend);
	}

	stop(): void {
		this.#probing.abort();
		this.#server.close();
		for (const socket of this.#sockets) socket.destroy();
	}

	async #probe(backend: Backend): Promise<void> {
		const { signal } = this.#probing;
		while (!signal.aborted) {
			const answer = await fetch(`${backend.healthUrl}/readyz`, {
				signal: AbortSignal.timeout(probeTimeoutMs),
			}).catch(() => undefined);
			await answer?.text().catch(() => undefined);
			if (answer?.ok) this.#ready.add(backend);
			else this.#ready.delete(backend);
			await pause(probeEveryMs, signal);
		}
	}

	#forward(client: Socket): void {
		const backend = [...this.#ready][this.#turn++ % this.#ready.size];
		if (!backend) {
			client.destroy();
			return;
		}
		const { hostname, port } = new URL(backend.url);
		const server = connect({ host: hostname, port: Number(port) });
		for (const socket of [client, server]) {
			this.#sockets.add(socket);
			socket.setNoDelay(true);
			socket.on("error", () => {
				client.destroy();
				server.destroy();
			});
			socket.on("close", () => this.#sockets.delete(socket));
		}
		client.pipe(server).pipe(client);
	}
}
