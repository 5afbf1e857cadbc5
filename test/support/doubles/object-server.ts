import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * An object store whose links work like presigned URLs: a wrong signature is 403 SignatureDoesNotMatch, and a missing key
 * is 404 NoSuchKey (docs.aws.amazon.com, Amazon S3 API reference, "Error responses").
 */
export interface ObjectServer {
	/** Stores bytes under a key and returns its link. */
	put(key: string, bytes: Uint8Array | string): string;
	/** Answers the next requests for a key with these, one each. Later requests get the object. */
	disturb(
		key: string,
		...answers: ((response: ServerResponse) => void)[]
	): void;
	/** The requested keys, in order. */
	readonly requests: string[];
	/** Called with each requested key before the answer. */
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
		const refuse = (status: number, code: string) => {
			response.statusCode = status;
			response.end(`<Error><Code>${code}</Code></Error>`);
		};
		if (url.searchParams.get("signature") !== signature)
			refuse(403, "SignatureDoesNotMatch");
		else if (bytes === undefined) refuse(404, "NoSuchKey");
		else response.end(bytes);
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
