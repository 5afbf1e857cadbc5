import type { IncomingMessage } from "node:http";
import type { RequestOptions } from "node:https";
// @kubernetes/client-node: reads kubeconfigs and knows every way to sign in (tokens, files, exec plugins, OIDC).
// Types only: loading it costs 70 MB, which a process without credentials of its own need not pay.
import type { KubeConfig } from "@kubernetes/client-node";
import { parseExact } from "../../json/json-reader.ts";
import { metrics } from "../metrics.ts";
import { droppedChunk } from "./dropped-chunks.ts";
import { AnswerTooLong, KubeApiError, TransportError } from "./errors.ts";

// An import of node:http makes its WebSocket, and with it loads all of fetch: 60 ms of CPU that each command would pay.
export const http = process.getBuiltinModule("node:http");
export const https = process.getBuiltinModule("node:https");

export interface KubeRequest {
	method: string;
	/** Starts with `/`. */
	path: string;
	query?: QueryParameters;
	/** Sent as JSON. */
	body?: unknown;
	/** Default `application/json`. */
	contentType?: string;
	/** Default `application/json`. */
	accept?: string;
	signal?: AbortSignal | undefined;
	/** After this time without a byte either way the connection counts as dead. */
	silenceMs?: number;
	/** Bounds the time to the whole answer. */
	timeoutMs?: number;
	/** A longer answer is given up, with {@link AnswerTooLong}. */
	maxLength?: number | undefined;
	/** Of each chunk of the answer, what is kept. */
	shorten?: ((chunk: string) => string) | undefined;
}

export type QueryParameters = Record<
	string,
	string | number | boolean | undefined
>;

export interface TransportOptions {
	/** Names this client in the apiserver's audit log. */
	userAgent?: string | undefined;
	/** Called with the head of each answer. */
	onAnswer?: ((head: ApiserverAnswer) => void) | undefined;
}

/** What the head of an answer says beside its status. */
export interface ApiserverAnswer {
	/** The apiserver's clock (RFC 9110 §6.6.1). */
	date: string | undefined;
	/** From the request to the head, in milliseconds. */
	tookMs: number;
}

/** HTTP to one apiserver over kept connections. */
export class Transport {
	readonly #access: ClusterAccess;
	readonly #userAgent: string;
	readonly #onAnswer: TransportOptions["onAnswer"];

	constructor(
		access: ClusterAccess,
		{ userAgent = "node", onAnswer }: TransportOptions = {},
	) {
		this.#access = access;
		this.#userAgent = userAgent;
		this.#onAnswer = onAnswer;
	}

	/** Sends the request and returns the whole answer. Throws like {@link open}. */
	async answer(request: KubeRequest): Promise<string> {
		return textOf(request, await this.open(request));
	}

	/**
	 * Sends the request and returns the answer's stream once its status is 2xx.
	 * Throws {@link KubeApiError} for any other status, else {@link TransportError}.
	 */
	async open(request: KubeRequest): Promise<IncomingMessage> {
		const response = await this.#send(request);
		const status = response.statusCode!;
		if (status >= 200 && status < 300) return response;
		const retryAfter = Number(response.headers["retry-after"] ?? Number.NaN);
		throw new KubeApiError(
			status,
			parseJson(await textOf(request, response)),
			Number.isFinite(retryAfter) ? retryAfter * 1000 : undefined,
			request,
		);
	}

	/** Sends the request and yields each whole line of the answer as it comes. Throws like {@link open}, also in the middle. */
	async *lines(request: KubeRequest): AsyncGenerator<string> {
		const response = await this.open(request);
		response.setEncoding("utf8");
		let rest = "";
		try {
			for await (const chunk of response as AsyncIterable<string>) {
				const lines = (rest + chunk).split("\n");
				rest = lines.pop()!;
				yield* lines;
			}
		} catch (cause) {
			throw new TransportError(request, cause as NodeJS.ErrnoException, {
				staleConnection: false,
			});
		}
	}

	async #send(request: KubeRequest): Promise<IncomingMessage> {
		const { server } = this.#access;
		const secure = server.protocol === "https:";
		const body =
			request.body === undefined ? undefined : JSON.stringify(request.body);
		const options: RequestOptions = {
			hostname: server.hostname.replace(/^\[|\]$/g, ""),
			port: server.port,
			path: pathOf(server, request),
			method: request.method,
			headers: {
				accept: request.accept ?? "application/json",
				"user-agent": this.#userAgent,
				...(body !== undefined && {
					"content-type": request.contentType ?? "application/json",
					"content-length": Buffer.byteLength(body),
				}),
			},
			...(request.signal && { signal: request.signal }),
			...(request.silenceMs && { timeout: request.silenceMs }),
		};
		await this.#access.sign(options);
		options.agent ??= secure ? httpsAgent : httpAgent;

		const count = (code: string) =>
			metrics.requests.inc({ code, method: request.method, host: server.host });
		const sentMs = performance.now();
		return new Promise((resolve, reject) => {
			let answer: IncomingMessage | undefined;
			const outgoing = (secure ? https : http).request(options, (got) => {
				answer = got;
				count(String(got.statusCode));
				const { date } = got.headers;
				this.#onAnswer?.({ date, tookMs: performance.now() - sentMs });
				resolve(got);
			});
			// Once there is an answer, its reader must see the error.
			const giveUp = (why: string) =>
				(answer ?? outgoing).destroy(new Error(`${request.path}: ${why}`));
			outgoing.on("timeout", () =>
				giveUp(`no byte for ${request.silenceMs} ms`),
			);
			const { timeoutMs } = request;
			if (timeoutMs) {
				// Cheaper than an AbortSignal, which listens to both the request and its answer.
				const timer = setTimeout(
					() => giveUp(`no answer in ${timeoutMs} ms`),
					timeoutMs,
				);
				outgoing.on("close", () => clearTimeout(timer));
			}
			outgoing.on("error", (cause: NodeJS.ErrnoException) => {
				if (!answer) count("<error>");
				reject(
					new TransportError(request, cause, {
						staleConnection:
							outgoing.reusedSocket && cause.code === "ECONNRESET",
					}),
				);
			});
			outgoing.end(body);
		});
	}
}

/** Uses events: `node:stream/consumers` costs an iterator and a dozen listeners per answer. */
function textOf(
	request: KubeRequest,
	response: IncomingMessage,
): Promise<string> {
	return new Promise((resolve, reject) => {
		let text = "";
		response.setEncoding("utf8");
		response.on("data", (chunk: string) => {
			text += request.shorten?.(chunk) ?? chunk;
			if (request.shorten) droppedChunk(chunk);
			if (text.length > (request.maxLength ?? Infinity))
				response.destroy(new AnswerTooLong(request.path));
		});
		response.on("end", () => resolve(text));
		response.on("error", (cause) =>
			reject(
				cause instanceof AnswerTooLong
					? cause
					: new TransportError(request, cause, { staleConnection: false }),
			),
		);
	});
}

/** Numbers in the schemas of people stay as Kubernetes has stored them. */
export function parseJson(body: string): unknown {
	try {
		return parseExact(body);
	} catch {
		return body;
	}
}

// TCP probes after 30 s of silence find a dead peer (libuv: 10 probes, 1 s apart). An agent separates connections by TLS
// credentials, so all clients can share one.
export const keepAlive = { keepAlive: true, keepAliveMsecs: 30_000 };
const httpAgent = new http.Agent(keepAlive);
const httpsAgent = new https.Agent(keepAlive);

function pathOf(server: URL, { path, query = {} }: KubeRequest): string {
	// A cluster behind a proxy may have a path prefix.
	const prefix = server.pathname.replace(/\/+$/, "");
	const parameters = new URLSearchParams();
	for (const [name, value] of Object.entries(query))
		if (value !== undefined) parameters.set(name, String(value));
	const search = parameters.toString();
	return prefix + path + (search && `?${search}`);
}

/** Where an apiserver is, and with whose credentials it is asked. */
export interface ClusterAccess {
	readonly server: URL;
	/** Adds credentials to the options of one request, and the agent if it needs a special one. */
	sign(options: RequestOptions): Promise<void> | void;
}

/** With the credentials of a kubeconfig's user. */
export function configAccess(config: KubeConfig): ClusterAccess {
	const currentCluster = () => {
		const cluster = config.getCurrentCluster();
		if (!cluster) throw new Error("the kubeconfig has no current cluster");
		return cluster;
	};
	return {
		get server() {
			return new URL(currentCluster().server);
		},
		async sign(options) {
			// Once per request, because token files rotate and exec credentials expire.
			await config.applyToHTTPSOptions(options);
			// The config's own agent keeps no connections. Only a proxy needs it.
			if (!currentCluster().proxyUrl) delete options.agent;
		},
	};
}
