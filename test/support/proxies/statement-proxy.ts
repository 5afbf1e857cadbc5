import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** Stands between a load and ClickHouse, sees each statement, and can lose the connection at one. */
export class StatementProxy {
	/** Those that change something, in order, since the last {@link cutAt}. */
	changes: string[] = [];
	/** What is awaited before a statement goes on, which has these settings. */
	onStatement: (
		statement: string,
		settings: URLSearchParams,
	) => Promise<unknown> | undefined = () => undefined;
	#cut: { index: number; isCarriedOut: boolean } | undefined;
	readonly #server: Server;

	private constructor(target: string) {
		this.#server = createServer(async (incoming, outgoing) => {
			const url = new URL(incoming.url!, target);
			const isInBody = !url.searchParams.has("query");
			const body = isInBody ? await text(incoming) : undefined;
			const statement = body ?? url.searchParams.get("query")!;
			const index = /^SELECT/.test(statement)
				? this.changes.length - 0.5
				: this.changes.push(statement) - 1;
			await this.onStatement(statement, url.searchParams);
			const isCut = this.#cut !== undefined && index >= this.#cut.index;
			if (isCut && !(index === this.#cut!.index && this.#cut!.isCarriedOut))
				return void outgoing.destroy();
			const onward = request(url, {
				method: incoming.method!,
				headers: { ...incoming.headers, host: url.host },
			});
			onward.once("error", () => outgoing.destroy());
			onward.once("response", (response) => {
				if (isCut)
					return response.resume().once("end", () => outgoing.destroy());
				outgoing.writeHead(response.statusCode!, response.headers);
				return response.pipe(outgoing);
			});
			if (body === undefined) incoming.pipe(onward);
			else onward.end(body);
		});
	}

	static async start(target: string): Promise<StatementProxy> {
		const proxy = new StatementProxy(target);
		await new Promise<void>((resolve) =>
			proxy.#server.listen(0, "127.0.0.1", resolve),
		);
		return proxy;
	}

	get url(): string {
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	/**
	 * From now on, the change of this index and all that follows it get no answer, as in a process that is killed there.
	 * @param isCarriedOut Whether the server still carries out that one.
	 */
	cutAt(index: number | undefined, isCarriedOut = false): void {
		this.changes = [];
		this.#cut = index === undefined ? undefined : { index, isCarriedOut };
	}

	async close(): Promise<void> {
		const closed = new Promise((resolve) => this.#server.close(resolve));
		this.#server.closeAllConnections();
		await closed;
	}
}
