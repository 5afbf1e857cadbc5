import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type RequestsOrder, requestsOf } from "./requests.ts";

/** The result of one leg of load. */
export interface LoadReport {
	requestsPerSecond: number;
	p99Ms: number;
	/** All answers, those of the warm-up included. */
	answers: number;
	/** Answers other than 200. */
	failures: number;
}

export interface LoadOrder extends RequestsOrder {
	host: string;
	port: number;
	connections: number;
	/** Open model: the arrival rate, whether earlier requests are answered or not. Absent for a closed loop. */
	requestsPerSecond?: number;
	warmUpMs: number;
	measureMs: number;
}

/**
 * In a closed loop, each connection sends its next request when it has the last answer. In an open model, a request goes out
 * on a free connection and its latency counts from when it was due, so a server that stalls can't hide the requests that
 * waited. It uses raw sockets, since it shares the machine with the server: an HTTP client would cost more than the server.
 * Runs as its own process, with a {@link LoadOrder} as its argument, and prints a {@link LoadReport}.
 */
class LoadGenerator {
	readonly #order: LoadOrder;
	/** Shared by all connections. */
	readonly #requests: Buffer[];
	/** Larger than any leg needs, since a growing array is copied while answers wait. Memory that isn't written costs nothing. */
	readonly #latenciesMs = new Float32Array(2 ** 25);
	#measured = 0;
	#answers = 0;
	#failures = 0;
	#isMeasuring = false;
	/** Free connections, in an open model. */
	readonly #free: ((dueMs: number) => void)[] = [];
	/** Due times of requests that wait for a free connection. */
	readonly #due: number[] = [];

	constructor(order: LoadOrder) {
		this.#order = order;
		this.#requests = requestsOf(order);
	}

	async run(): Promise<LoadReport> {
		const { connections, warmUpMs, measureMs } = this.#order;
		const sockets = await Promise.all(
			Array.from({ length: connections }, (_, n) => this.#open(n)),
		);
		const { requestsPerSecond } = this.#order;
		if (requestsPerSecond) this.#arrive(requestsPerSecond);
		await pause(warmUpMs);
		this.#isMeasuring = true;
		const startedMs = performance.now();
		await pause(measureMs);
		this.#isMeasuring = false;
		const tookMs = performance.now() - startedMs;
		for (const socket of sockets) socket.destroy();
		const sorted = this.#latenciesMs.subarray(0, this.#measured).sort();
		const at = (share: number) =>
			sorted[Math.floor(sorted.length * share)] ?? 0;
		return {
			requestsPerSecond: sorted.length / (tookMs / 1000),
			p99Ms: at(0.99),
			answers: this.#answers,
			failures: this.#failures,
		};
	}

	/** Lets requests arrive at a steady rate. */
	#arrive(perSecond: number): void {
		const startedMs = performance.now();
		let arrived = 0;
		setInterval(() => {
			const nowMs = performance.now();
			for (; (arrived / perSecond) * 1000 <= nowMs - startedMs; arrived++) {
				const dueMs = startedMs + (arrived / perSecond) * 1000;
				const send = this.#free.shift();
				if (send) send(dueMs);
				else this.#due.push(dueMs);
			}
		}, 1);
	}

	#open(index: number): Promise<Socket> {
		return new Promise((resolve, reject) => {
			let onData = (_bytes: number, _answer: Buffer): void => undefined;
			const socket = connect({
				port: this.#order.port,
				host: this.#order.host,
				noDelay: true,
				// One buffer for all connections: each answer is examined at once and not kept.
				onread: {
					buffer: answerBuffer,
					callback: (bytes) => {
						onData(bytes, answerBuffer);
						return true;
					},
				},
			});
			socket.once("connect", () => {
				onData = this.#loop(socket, index);
				resolve(socket);
			});
			socket.once("error", reject);
		});
	}

	/** Sends the first request, and returns the handler of answers. */
	#loop(
		socket: Socket,
		index: number,
	): (bytes: number, answer: Buffer) => void {
		const { connections, requestsPerSecond } = this.#order;
		let dueMs = 0;
		let received = 0;
		// All answers have the same length.
		let answerLength = 0;
		let turn = index;
		const texts = this.#requests;
		const send = (nowMs: number) => {
			received = 0;
			dueMs = nowMs;
			socket.write(texts[turn % texts.length]!);
			turn += connections;
		};
		const sendNext = () => {
			if (!requestsPerSecond) send(performance.now());
			else if (this.#due.length > 0) send(this.#due.shift()!);
			else this.#free.push(send);
		};
		sendNext();
		return (bytes, answer) => {
			if (received === 0) {
				if (!isOK(answer)) this.#failures++;
				answerLength ||= lengthOf(answer.toString("latin1", 0, bytes));
			}
			received += bytes;
			if (received < answerLength) return;
			this.#answers++;
			if (this.#isMeasuring)
				this.#latenciesMs[this.#measured++] = performance.now() - dueMs;
			sendNext();
		};
	}
}

/** Longer than any answer. */
const answerBuffer = Buffer.alloc(64 * 1024);

/** Whether the status is 200. */
function isOK(answer: Buffer): boolean {
	return answer[9] === 0x32 && answer[10] === 0x30 && answer[11] === 0x30;
}

function lengthOf(answer: string): number {
	const contentLength = /\r\ncontent-length: (\d+)\r\n/i.exec(answer);
	return answer.indexOf("\r\n\r\n") + 4 + Number(contentLength?.[1]);
}

const order = JSON.parse(process.argv[2]!) as LoadOrder;
process.stdout.write(JSON.stringify(await new LoadGenerator(order).run()));
process.exit();
