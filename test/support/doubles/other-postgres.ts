import { createServer, type Server, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { KeyPair } from "../../../operator/install/certificate.ts";

/** What the server sends, once for the startup message and once for each answer of the client's. */
export type Step = (answer: Buffer) => Buffer;

/**
 * A server that isn't the Postgres that somebody means. It asks for the password as its steps say, and keeps all that it gets.
 * The messages: postgresql.org/docs/current/protocol-message-formats.html; their order: …/protocol-flow.html#PROTOCOL-FLOW-START-UP;
 * SCRAM's: RFC 5802 §7, postgresql.org/docs/current/sasl-authentication.html.
 */
export class OtherPostgres {
	/** What came by each connection, without its encryption. */
	readonly received: Buffer[] = [];
	readonly #server: Server;
	readonly #sockets = new Set<Socket>();

	static async start(steps: Step[], tls?: KeyPair): Promise<OtherPostgres> {
		const server = createServer();
		const other = new OtherPostgres(server);
		server.on("connection", (socket) => other.#serve(socket, steps, tls));
		await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
		return other;
	}

	private constructor(server: Server) {
		this.#server = server;
	}

	get port(): number {
		return (this.#server.address() as { port: number }).port;
	}

	/** All that came, byte for byte. */
	get text(): string {
		return Buffer.concat(this.received).toString("latin1");
	}

	async close(): Promise<void> {
		for (const socket of this.#sockets) socket.destroy();
		await new Promise((done) => this.#server.close(done));
	}

	#serve(plain: Socket, steps: Step[], tls: KeyPair | undefined): void {
		this.#sockets.add(plain);
		plain.on("error", () => undefined);
		const at = this.received.push(Buffer.alloc(0)) - 1;
		const left = [...steps];
		let waiting = Buffer.alloc(0);
		const take = (socket: Socket, bytes: Buffer): void => {
			this.received[at] = Buffer.concat([this.received[at]!, bytes]);
			waiting = Buffer.concat([waiting, bytes]);
			// The first message has no type.
			const from = left.length === steps.length ? 0 : 1;
			while (waiting.length >= from + 4) {
				const end = from + waiting.readInt32BE(from);
				if (waiting.length < end) return;
				const message = waiting.subarray(0, end);
				waiting = waiting.subarray(end);
				if (from === 0 && message.equals(sslRequest)) {
					socket.removeAllListeners("data");
					socket.write(tls ? "S" : "N");
					if (!tls) return;
					const { cert, key } = tls;
					const secure = new TLSSocket(socket, { isServer: true, cert, key });
					secure.on("error", () => undefined);
					secure.on("data", (more: Buffer) => take(secure, more));
					return;
				}
				const step = left.shift();
				if (step) socket.write(step(message));
				else socket.end();
			}
		};
		plain.on("data", (bytes: Buffer) => take(plain, bytes));
	}
}

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

function message(type: string, ...parts: (string | number | Buffer)[]): Buffer {
	const body = Buffer.concat(
		parts.map((part) => {
			if (typeof part !== "number") return Buffer.from(part);
			const number = Buffer.alloc(4);
			number.writeInt32BE(part);
			return number;
		}),
	);
	const length = Buffer.alloc(4);
	length.writeInt32BE(body.length + 4);
	return Buffer.concat([Buffer.from(type), length, body]);
}

export const cleartext: Step = () => message("R", 3);
export const md5: Step = () => message("R", 5, "salt");
export const gss: Step = () => message("R", 7);
export const scram: Step = () => message("R", 10, "SCRAM-SHA-256\0\0");

/** @param rest what follows the nonce, such as `s=c2FsdA==,i=4096`. */
export const scramContinue =
	(rest: string): Step =>
	(initial) => {
		const [, nonce] = /r=(.+)$/.exec(initial.toString("latin1")) ?? [];
		return message("R", 11, `r=${nonce}theirs,${rest}`);
	};

/** @param signature in base64. */
export const scramFinal =
	(signature: string): Step =>
	() =>
		Buffer.concat([message("R", 12, `v=${signature}`), authenticated("")]);

/** AuthenticationOk and ReadyForQuery. */
export const authenticated = (_: unknown): Buffer =>
	Buffer.concat([message("R", 0), ready()]);

/** ReadyForQuery, without AuthenticationOk. */
export const ready = (): Buffer => message("Z", "I");
