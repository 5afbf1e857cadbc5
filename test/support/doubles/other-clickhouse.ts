import { createServer, type Server, type Socket } from "node:net";

/**
 * A server that isn't the ClickHouse that somebody means. It answers each request with one text, and keeps all that it gets.
 * ClickHouse's protocol is HTTP: clickhouse.com/docs/interfaces/http; the credentials are those of RFC 7617.
 */
export class OtherClickHouse {
	/** What came by each connection. */
	readonly received: string[] = [];
	readonly #server: Server;
	readonly #sockets = new Set<Socket>();

	/** @param answer with its status line and headers. */
	static async start(answer: string): Promise<OtherClickHouse> {
		const server = createServer();
		const other = new OtherClickHouse(server);
		server.on("connection", (socket) => {
			other.#sockets.add(socket);
			const at = other.received.push("") - 1;
			socket.on("error", () => undefined);
			socket.on("data", (bytes: Buffer) => {
				other.received[at] += bytes.toString("latin1");
				if (other.received[at]!.includes("\r\n\r\n")) socket.end(answer);
			});
		});
		await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
		return other;
	}

	private constructor(server: Server) {
		this.#server = server;
	}

	get url(): string {
		const { port } = this.#server.address() as { port: number };
		return `http://127.0.0.1:${port}`;
	}

	async close(): Promise<void> {
		for (const socket of this.#sockets) socket.destroy();
		await new Promise((done) => this.#server.close(done));
	}
}
