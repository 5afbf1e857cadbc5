import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { answersOk } from "../local/probe.ts";

interface Backend {
	/** `http://host:port`, where connections go. */
	url: string;
	/** Whose /readyz says whether new ones do. */
	healthUrl: string;
}

const probeEveryMs = 50;

/**
 * Stands before several servers as a Kubernetes Service does: a new connection goes to one of those that are ready by
 * their last probe, in turns; one that stands stays where it is, whatever becomes of its server.
 */
export class ServiceBalancer {
	readonly #server = createServer((client) => this.#forward(client));
	readonly #probing = new AbortController();
	readonly #sockets = new Set<Socket>();
	#ready: Backend[] = [];
	#turn = 0;
	port = 0;

	static async start(backends: readonly Backend[]): Promise<ServiceBalancer> {
		const balancer = new ServiceBalancer();
		await new Promise<void>((resolve) =>
			balancer.#server.listen(0, "127.0.0.1", resolve),
		);
		balancer.port = (balancer.#server.address() as AddressInfo).port;
		void balancer.#probe(backends);
		return balancer;
	}

	/** Whether new connections go there. */
	isReady(backend: Backend): boolean {
		return this.#ready.includes(backend);
	}

	stop(): void {
		this.#probing.abort();
		this.#server.close();
		for (const socket of this.#sockets) socket.destroy();
	}

	async #probe(backends: readonly Backend[]): Promise<void> {
		const { signal } = this.#probing;
		while (!signal.aborted) {
			const answers = await Promise.all(
				backends.map(({ healthUrl }) => answersOk(`${healthUrl}/readyz`)),
			);
			this.#ready = backends.filter((_, index) => answers[index]);
			await delay(probeEveryMs, undefined, { signal }).catch(() => undefined);
		}
	}

	#forward(client: Socket): void {
		const backend = this.#ready[this.#turn++ % this.#ready.length];
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
