import http from "node:http";
import https from "node:https";
import { median } from "../measure/measurement.ts";

export interface Call {
	method: string;
	path: string;
	type?: string;
	body?: unknown;
}

/** A server to call in a closed loop over keep-alive connections. */
export class HttpTarget {
	readonly #connections: number;
	readonly #url: string;
	readonly #headers: Record<string, string>;
	readonly #agent: http.Agent;
	#number = 0;

	constructor(
		connections: number,
		{ url, ca, token }: { url: string; ca?: string; token: string },
	) {
		this.#connections = connections;
		this.#url = url;
		this.#headers = {
			authorization: `Bearer ${token}`,
			// No operator validates what is made here, and the API would wait for it.
			prefer: "respond-async",
		};
		const kept = { keepAlive: true, maxSockets: this.#connections };
		this.#agent = ca ? new https.Agent({ ...kept, ca }) : new http.Agent(kept);
	}

	/** Returns the median latency, in milliseconds. */
	async measure(
		callOf: (number: number) => Call,
		forMs: number,
	): Promise<number> {
		const latenciesMs: number[] = [];
		const beginMs = performance.now() + warmUpMs;
		const endMs = beginMs + forMs;
		const worker = async () => {
			for (;;) {
				const startedMs = performance.now();
				if (startedMs > endMs) return;
				await this.call(callOf(this.#number++));
				if (startedMs >= beginMs)
					latenciesMs.push(performance.now() - startedMs);
			}
		};
		await Promise.all(Array.from({ length: this.#connections }, worker));
		return median(latenciesMs);
	}

	/** Returns the answer's body. Throws if the status isn't 2xx. */
	async call({ method, path, body, type }: Call): Promise<string> {
		const text = body === undefined ? undefined : JSON.stringify(body);
		const answer = await new Promise<http.IncomingMessage>(
			(resolve, reject) => {
				const { request } = this.#url.startsWith("https") ? https : http;
				const outgoing = request(
					this.#url + path,
					{
						method,
						agent: this.#agent,
						headers: {
							...this.#headers,
							...(text !== undefined && {
								"content-type": type ?? "application/json",
								"content-length": Buffer.byteLength(text),
							}),
						},
					},
					resolve,
				);
				outgoing.on("error", reject);
				outgoing.end(text);
			},
		);
		const answered = Buffer.concat(await answer.toArray()).toString();
		const { statusCode = 0 } = answer;
		if (statusCode >= 200 && statusCode < 300) return answered;
		throw new Error(`${method} ${path}: ${statusCode} ${answered}`);
	}
}

const warmUpMs = 500;
