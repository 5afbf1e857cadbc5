import { mkdtemp, rm, writeFile } from "node:fs/promises";
import {
	createServer,
	type IncomingHttpHeaders,
	type IncomingMessage,
} from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** What a server answers: a status, and JSON or text. */
type Reply = [status: number, body: unknown];

/**
 * A server that commands may take for the apiserver, and a kubeconfig that leads there. `asked` has each request as
 * `GET /path`. It goes with the test.
 */
export async function apiserver(
	answer: (
		request: string,
		body: string,
		headers: IncomingHttpHeaders,
	) => Reply,
) {
	const asked: string[] = [];
	const server = createServer(async (request: IncomingMessage, response) => {
		const line = `${request.method} ${request.url}`;
		asked.push(line);
		const [status, body] = answer(line, await text(request), request.headers);
		const isText = typeof body === "string";
		response.writeHead(status, {
			"content-type": isText ? "text/plain" : "application/json",
		});
		response.end(isText ? body : JSON.stringify(body));
	});
	await new Promise<void>((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve()),
	);
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
	const kubeconfig = join(folder, "config");
	await writeFile(
		kubeconfig,
		JSON.stringify({
			clusters: [
				{
					name: "c",
					cluster: { server: url, "insecure-skip-tls-verify": true },
				},
			],
			contexts: [{ name: "c", context: { cluster: "c", namespace: "mine" } }],
			"current-context": "c",
		}),
	);
	onTestFinished(async () => {
		server.closeAllConnections();
		server.close();
		await rm(folder, { recursive: true });
	});
	return { asked, url, folder, args: ["--kubeconfig", kubeconfig] };
}

/** A refusal as the apiserver writes it. */
export function refusal(code: number, reason: string, message: string): Reply {
	return [code, { kind: "Status", status: "Failure", code, reason, message }];
}
