import {
	createServer,
	type IncomingMessage,
	type Server,
	type ServerResponse,
} from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
// @kubernetes/client-node: reads kubeconfigs and knows every way to sign in (tokens, files, exec plugins, OIDC).
import { KubeConfig } from "@kubernetes/client-node";

export interface SeenRequest {
	method: string;
	/** Without the query. */
	path: string;
	query: URLSearchParams;
	/** The header. */
	accept: string;
	/** Of the answer; undefined until there is one. */
	status?: number;
	/** The client has the answer, or can read it when it looks. */
	isAnswered: boolean;
}

/** What is awaited before a request goes on its way. */
type Hook = (request: SeenRequest) => Promise<unknown> | undefined;

/** Stands between a client and the apiserver, to see and to hold up what passes. The client needs no credentials. */
export class ApiserverProxy {
	readonly requests: SeenRequest[] = [];
	/** Before the apiserver has it. */
	onRequest: Hook = () => undefined;
	/** After the apiserver has done it, before the client hears of that. */
	onAnswer: Hook = () => undefined;
	readonly #target: KubeConfig;
	readonly #server: Server;

	private constructor(target: KubeConfig) {
		this.#target = target;
		this.#server = createServer((incoming, outgoing) => {
			// Who asked is gone, or the apiserver is: the broken connection says so.
			this.#pass(incoming, outgoing).catch(() => outgoing.destroy());
		});
	}

	/** @param target whose server is asked, with whose credentials. */
	static async start(target: KubeConfig): Promise<ApiserverProxy> {
		const proxy = new ApiserverProxy(target);
		await new Promise<void>((resolve) =>
			proxy.#server.listen(0, "127.0.0.1", resolve),
		);
		return proxy;
	}

	/** For clients that go through the proxy. */
	get kubeConfig(): KubeConfig {
		const { port } = this.#server.address() as AddressInfo;
		const config = new KubeConfig();
		config.loadFromClusterAndUser(
			{
				name: "proxy",
				server: `http://127.0.0.1:${port}`,
				skipTLSVerify: true,
			},
			{ name: "nobody" },
		);
		return config;
	}

	/** Breaks all connections, of watches as well. New ones are accepted. */
	cut(): void {
		this.#server.closeAllConnections();
	}

	async close(): Promise<void> {
		const closed = new Promise((resolve) => this.#server.close(resolve));
		this.cut();
		await closed;
	}

	async #pass(incoming: IncomingMessage, outgoing: ServerResponse) {
		const { method = "GET", url = "/", headers } = incoming;
		const { pathname: path, searchParams: query } = new URL(url, "http://x");
		const { accept = "" } = headers;
		const seen: SeenRequest = {
			method,
			path,
			query,
			accept,
			isAnswered: false,
		};
		this.requests.push(seen);
		await this.onRequest(seen);
		const { host: _, connection: __, ...passed } = headers;
		const options = { method, headers: passed };
		await this.#target.applyToHTTPSOptions(options);
		const { server } = this.#target.getCurrentCluster()!;
		const onward = request(new URL(url, server), options);
		outgoing.once("close", () => onward.destroy());
		const answer = new Promise<IncomingMessage>((resolve, reject) => {
			onward.once("response", resolve);
			onward.once("error", reject);
		});
		const [response] = await Promise.all([answer, pipeline(incoming, onward)]);
		seen.status = response.statusCode!;
		await this.onAnswer(seen);
		outgoing.writeHead(response.statusCode!, response.headers);
		outgoing.flushHeaders();
		await pipeline(response, outgoing);
		seen.isAnswered = true;
	}
}

/**
 * A request that changes something, other than the Lease or an Event. A review only asks who may do what, although by POST, and a
 * dry run whether a write would be refused.
 */
export function isWrite({ method, path, query }: SeenRequest): boolean {
	return (
		method !== "GET" &&
		!query.has("dryRun") &&
		!/\/(leases|events|self\w+reviews)(\/|$)/.test(path)
	);
}
