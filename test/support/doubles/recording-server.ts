import { createServer, type Server, type Socket } from "node:net";

/** A stranger's server: it takes each connection, keeps what comes, and hangs up without an answer. */
export class RecordingServer {
	/** What came by each connection. */
	readonly received: string[] = [];
	readonly #server: Server;

	static async start(): Promise<RecordingServer> {
		const server = createServer();
		await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
		return new RecordingServer(server);
	}

	private constructor(server: Server) {
		this.#server = server;
		server.on("connection", (socket) => this.#hear(socket));
	}

	get port(): number {
		return (this.#server.address() as { port: number }).port;
	}

	close(): void {
		this.#server.close();
	}

	#hear(socket: Socket): void {
		const at = this.received.push("") - 1;
		socket.on("error", () => undefined);
		socket.on("data", (bytes) => {
			this.received[at] += bytes.toString("latin1");
			socket.destroy();
		});
	}
}
