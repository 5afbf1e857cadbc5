import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** As much of nats-server's protocol as one client's connection needs: https://docs.nats.io/reference/reference-protocols/nats-protocol */
export class NatsServerDouble {
	/** What clients sent, in latin1. */
	readonly received: string[] = [];
	/** The latest client's. */
	socket: Socket | undefined;
	/** Number of the latest subscription. */
	#subscription = "";
	readonly #server = createServer((socket) => {
		this.socket = socket.setEncoding("latin1");
		// A test may cut the connection.
		socket.on("error", () => undefined);
		socket.write(
			'INFO {"version":"2.15.2","max_payload":8388608,"headers":true}\r\n',
		);
		socket.on("data", (text: string) => {
			this.received.push(text);
			this.#subscription =
				/SUB \S+ (\d+)/.exec(text)?.[1] ?? this.#subscription;
			if (text.endsWith("PING\r\n")) socket.write("PONG\r\n");
		});
	});

	/** Returns where it listens: host and port. */
	async listen(): Promise<string> {
		this.#server.listen(0, "127.0.0.1");
		await once(this.#server, "listening");
		return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	/** Sends messages to the latest subscription, all at once. */
	send(subject: string, bodies: readonly Buffer[]): void {
		const parts = bodies.flatMap((body) => [
			Buffer.from(`MSG ${subject} ${this.#subscription} ${body.length}\r\n`),
			body,
			Buffer.from("\r\n"),
		]);
		this.socket!.write(Buffer.concat(parts));
	}

	close(): void {
		this.#server.close();
	}
}
