import { connect, type Socket } from "node:net";

/** What one leg of load brought. */
export interface LoadReport {
	requestsPerSecond: number;
	p50Ms: number;
	p99Ms: number;
	/** Answers other than 200. */
	failures: number;
}

export interface LoadOrder {
	host: string;
	port: number;
	path: string;
	body: string;
	connections: number;
	warmUpMs: number;
	measureMs: number;
}

/**
 * A closed loop: every connection sends its next request when it has the answer to the last. On raw sockets, since the
 * generator shares the machine with what it measures: a full HTTP client would cost more than the server under test.
 * Run as a process of its own, with a {@link LoadOrder} as its argument; prints a {@link LoadReport}.
 */
class LoadGenerator {
	readonly #order: LoadOrder;
	readonly #request: Buffer;
	#latenciesMs: number[] = [];
	#failures = 0;
	#isMeasuring = false;

	constructor(order: LoadOrder) {
		this.#order = order;
		this.#request = Buffer.from(
			`POST ${order.path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n` +
				`Content-Length: ${Buffer.byteLength(order.body)}\r\n\r\n${order.body}`,
		);
	}

	async run(): Promise<LoadReport> {
		const { connections, warmUpMs, measureMs } = this.#order;
		const sockets = await Promise.all(
			Array.from({ length: connections }, () => this.#open()),
		);
		await pause(warmUpMs);
		this.#isMeasuring = true;
		const startedMs = performance.now();
		await pause(measureMs);
		this.#isMeasuring = false;
		const tookMs = performance.now() - startedMs;
		for (const socket of sockets) socket.destroy();
		const sorted = this.#latenciesMs.sort((a, b) => a - b);
		const at = (share: number) =>
			sorted[Math.floor(sorted.length * share)] ?? 0;
		return {
			requestsPerSecond: sorted.length / (tookMs / 1000),
			p50Ms: at(0.5),
			p99Ms: at(0.99),
			failures: this.#failures,
		};
	}

	#open(): Promise<Socket> {
		return new Promise((resolve, reject) => {
			const socket = connect(this.#order.port, this.#order.host, () => {
				socket.setNoDelay(true);
				this.#loop(socket);
				resolve(socket);
			});
			socket.once("error", reject);
		});
	}

	#loop(socket: Socket): void {
		let sentMs = 0;
		let received = 0;
		// All answers to this one request have the same length.
		let answerLength = 0;
		const send = () => {
			received = 0;
			sentMs = performance.now();
			socket.write(this.#request);
		};
		socket.on("data", (chunk: Buffer) => {
			if (received === 0) {
				if (chunk.toString("latin1", 9, 12) !== "200") this.#failures++;
				answerLength ||= lengthOf(chunk.toString("latin1"));
			}
			received += chunk.length;
			if (received < answerLength) return;
			if (this.#isMeasuring) this.#latenciesMs.push(performance.now() - sentMs);
			send();
		});
		send();
	}
}

function lengthOf(answer: string): number {
	const contentLength = /\r\ncontent-length: (\d+)\r\n/i.exec(answer);
	return answer.indexOf("\r\n\r\n") + 4 + Number(contentLength?.[1]);
}

function pause(ms: number): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, ms));
}

const order = JSON.parse(process.argv[2]!) as LoadOrder;
process.stdout.write(JSON.stringify(await new LoadGenerator(order).run()));
process.exit();
