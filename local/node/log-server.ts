import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import type { TLSSocket } from "node:tls";
import type { Logger } from "../../packages/service/log.ts";
import type { ContainerLog } from "./container-log.ts";
import { LogOptionError, parseLogOptions } from "./log/log-options.ts";
import { readLog } from "./log/log-reader.ts";

/** Where a container's log is, with `growing` while the container runs; or why there is no log. */
export type LogSource =
	| { path: string; growing: ContainerLog | undefined }
	| { status: 400 | 404; message: string };

export interface LogServerOptions {
	host: string;
	port: number;
	/** PEM texts: our certificate and key, and the authority of clients. */
	tls: { cert: string; key: string; clientCA: string };
	find: (namespace: string, pod: string, container: string) => LogSource;
	log: Logger;
}

/**
 * Serves kubelet's `/containerLogs/<namespace>/<pod>/<container>` to the apiserver only, which has checked by RBAC that the
 * person may read the log. Throws when the port is taken.
 */
export async function startLogServer(
	options: LogServerOptions,
): Promise<{ port: number; close(): Promise<void> }> {
	const { cert, key, clientCA } = options.tls;
	const server = createServer(
		{ cert, key, ca: clientCA, requestCert: true, rejectUnauthorized: true },
		(request, response) => {
			answer(request, response, options).catch((err) => {
				// A reader that leaves in the middle of a log is ordinary.
				if (!response.destroyed)
					options.log.warn(
						{ err, path: request.url },
						"a log could not be served",
					);
				response.destroy();
			});
		},
	);
	await new Promise<void>((resolve, reject) => {
		server.once("error", reject);
		server.listen(options.port, options.host, resolve);
	});
	return {
		port: (server.address() as AddressInfo).port,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

/** The apiserver's name as a client (pki.ts, kubeletClient). */
const apiserverName = "kube-apiserver-kubelet-client";

async function answer(
	request: IncomingMessage,
	response: ServerResponse,
	options: LogServerOptions,
): Promise<void> {
	const refuse = (status: number, message: string) => {
		response.writeHead(status, { "content-type": "text/plain" });
		response.end(`${message}\n`);
	};
	const client = (request.socket as TLSSocket).getPeerCertificate().subject.CN;
	if (client !== apiserverName)
		return refuse(
			403,
			"Only the apiserver may read logs here. Use kubectl logs.",
		);

	const { pathname, searchParams } = new URL(request.url!, "https://node");
	const [what, namespace, pod, container, ...rest] = pathname
		.slice(1)
		.split("/")
		.map(decodeURIComponent);
	if (["exec", "attach", "portForward", "run"].includes(what!))
		return refuse(
			501,
			`Local mode has no ${what}: its Pods are processes of this machine, not containers. kubectl logs works.`,
		);
	if (what !== "containerLogs" || !container || rest.length > 0)
		return refuse(404, "Try /containerLogs/<namespace>/<pod>/<container>.");

	let query: ReturnType<typeof parseLogOptions>;
	try {
		query = parseLogOptions(searchParams, Date.now());
	} catch (error) {
		if (!(error instanceof LogOptionError)) throw error;
		return refuse(400, error.message);
	}
	if (query.previous)
		return refuse(
			400,
			`previous terminated container "${container}" in pod "${pod}" not found: local mode starts a container once`,
		);
	const source = options.find(namespace!, pod!, container);
	if ("status" in source) return refuse(source.status, source.message);
	const gone = new AbortController();
	response.on("close", () => gone.abort());
	response.writeHead(200, { "content-type": "text/plain" });
	// A follower gets the headers at once, before the first line.
	response.flushHeaders();
	await pipeline(
		readLog(source.path, query, source.growing, gone.signal),
		response,
	);
}
