import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

interface Backend {
	/** `http://host:port`, where connections go. */
	url: string;
	/** Whose /readyz says whether new ones do. */
	healthUrl: string;
}

const probeEveryMs = 50;
/** A probe that isn't answered says nothing for so long: a busy machine is no failure. */
const probeTimeoutMs = 60_000;

/**
 * Stands before several servers as a Kubernetes Service does: a new connection goes to one of those that are ready by
 * their last probe, in turns; one that stands stays where it is, whatever becomes of its server.
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

	/** Whether new connections go there. */
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
			await delay(probeEveryMs, undefined, { signal }).catch(() => undefined);
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
