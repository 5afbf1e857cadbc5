import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";

interface StallPoint {
	text: string;
	/** Before these bytes reach the server; or after, so that only the answer is missing. */
	when: "before" | "after";
	/** What has to come first, if anything. */
	since: string;
	reached: () => void;
}

/** Stands between a client and a server, to be a network that fails. */
export class TcpProxy {
	readonly #target: number;
	readonly #sockets = new Set<Socket>();
	#server: Server;
	#point: StallPoint | undefined;
	#left: number | undefined;
	port = 0;

	private constructor(target: number) {
		this.#target = target;
		this.#server = this.#listener();
	}

	/** @param target port on the loopback. */
	static async start(target: number): Promise<TcpProxy> {
		const proxy = new TcpProxy(target);
		await proxy.open();
		return proxy;
	}

	/** Accepts connections, on the port that it had before. */
	async open(): Promise<void> {
		this.#server = this.#listener();
		await new Promise<void>((resolve) =>
			this.#server.listen(this.port, "127.0.0.1", resolve),
		);
		this.port = (this.#server.address() as AddressInfo).port;
	}

	/** Breaks all connections; new ones are refused until it is opened. */
	async close(): Promise<void> {
		const closed = new Promise((resolve) => this.#server.close(resolve));
		this.reset();
		await closed;
	}

	/** Breaks all connections; new ones are accepted. */
	reset(): void {
		for (const socket of this.#sockets) socket.destroy();
	}

	/** Connections stay open, but no bytes pass. */
	stall(): void {
		for (const socket of this.#sockets) {
			socket.unpipe();
			socket.pause();
		}
	}

	/** Stalls by itself at the first bytes from a client that hold this text, once `since` has passed. Settles then. */
	stallAt(text: string, when: StallPoint["when"], since = ""): Promise<void> {
		return new Promise((reached) => {
			this.#point = { text, when, since, reached };
		});
	}

	/**
	 * Breaks all connections once a client has sent something for the nth time and the server has done it: the answer is missing, as
	 * of a client that was killed. Returns whether that has happened.
	 */
	breakAfter(sendings: number): () => boolean {
		this.#left = sendings;
		return () => this.#left === 0;
	}

	/** Whether bytes from a client go on to the server. */
	#passes(bytes: Buffer): boolean {
		const point = this.#point;
		if (point && bytes.includes(point.since)) point.since = "";
		if (!point) return true;
		if (point.since !== "" || !bytes.includes(point.text)) return true;
		this.#point = undefined;
		this.stall();
		point.reached();
		return point.when === "after";
	}

	#listener(): Server {
		return createServer((client) => {
			const server = connect(this.#target, "127.0.0.1");
			for (const socket of [client, server]) {
				this.#sockets.add(socket);
				socket.on("error", () => {});
				socket.on("close", () => {
					this.#sockets.delete(socket);
					client.destroy();
					server.destroy();
				});
			}
			client.on("data", (bytes: Buffer) => {
				const breaks = this.#left !== undefined && this.#left > 0;
				if (breaks && --this.#left! === 0) {
					server.unpipe();
					server.once("data", () => this.reset());
					server.resume();
				}
				if (this.#passes(bytes)) server.write(bytes);
			});
			server.pipe(client);
		});
	}
}
