import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An object store that serves what it is given under unguessable links, as presigned URLs do. */
export interface ObjectServer {
	/** Stores bytes under a key and returns its link. */
	put(key: string, bytes: Uint8Array | string): string;
	/** Answers the next requests for a key by these instead, one each; then as usual. */
	disturb(
		key: string,
		...answers: ((response: ServerResponse) => void)[]
	): void;
	/** Keys in the order in which they were asked for. */
	readonly requests: string[];
	/** Called with each key that is asked for, before the answer. */
	onRequest: (key: string) => void;
	close(): Promise<void>;
}

export async function startObjectServer(): Promise<ObjectServer> {
	const objects = new Map<string, Uint8Array | string>();
	const disturbances = new Map<
		string,
		((response: ServerResponse) => void)[]
	>();
	const server = createServer((request, response) => {
		const url = new URL(request.url ?? "/", "http://store");
		const key = decodeURIComponent(url.pathname.slice(1));
		store.requests.push(key);
		store.onRequest(key);
		const disturbance = disturbances.get(key)?.shift();
		if (disturbance) return disturbance(response);
		const bytes = objects.get(key);
		if (
			bytes === undefined ||
			url.searchParams.get("signature") !== signature
		) {
			response.statusCode = bytes === undefined ? 404 : 403;
			response.end(`<Error><Code>NoSuchKey</Code></Error>`);
			return;
		}
		response.end(bytes);
	});
	await new Promise<void>((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve()),
	);
	const { port } = server.address() as AddressInfo;
	const store: ObjectServer = {
		put(key, bytes) {
			objects.set(key, bytes);
			return `http://127.0.0.1:${port}/${encodeURIComponent(key)}?signature=${signature}`;
		},
		disturb(key, ...answers) {
			disturbances.set(key, answers);
		},
		requests: [],
		onRequest: () => undefined,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
	return store;
}

/** The secret part of each link, which no log and no result may contain. */
export const signature = "s3cr3t-signature";
