import { once } from "node:events";
import { createReadStream } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import type { TLSSocket } from "node:tls";
import type { Logger } from "../../packages/service/log.ts";
import { type ContainerLog, parseRecord } from "./container-log.ts";

/** Where a container's log is, with `growing` while the container runs; or why there is no log. */
export type LogSource =
	| { path: string; growing: ContainerLog | undefined }
	| { status: 400 | 404; message: string };

interface LogServerOptions {
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
	await once(server.listen(options.port, options.host), "listening");
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

/** Which part of a log is asked for, and how (v1.PodLogOptions). */
export interface LogOptions {
	follow: boolean;
	timestamps: boolean;
	/** The log of the container's former run. */
	previous: boolean;
	/** Only records from this instant on, in milliseconds since the epoch. */
	sinceMs?: number;
	/** Only this many of the latest records. */
	tailLines?: number;
	/** The answer ends after this many bytes, even in the middle of a line. */
	limitBytes?: number;
}

/** The query is invalid. */
class LogOptionError extends Error {
	override name = "LogOptionError";
}

/** Parses the query of kubelet's `/containerLogs`. Throws {@link LogOptionError}, which names the parameter. */
export function parseLogOptions(
	query: URLSearchParams,
	nowMs: number,
): LogOptions {
	const number = (name: string, min: number) => {
		const text = query.get(name);
		if (text === null) return undefined;
		const value = Number(text);
		if (!/^\d+$/.test(text) || value < min)
			throw new LogOptionError(
				`${name} is "${text}"; it must be a whole number of at least ${min}`,
			);
		return value;
	};
	const flag = (name: string) => ["true", "1"].includes(query.get(name) ?? "");
	const sinceSeconds = number("sinceSeconds", 1);
	const sinceTime = query.get("sinceTime");
	if (sinceSeconds !== undefined && sinceTime !== null)
		throw new LogOptionError("give sinceSeconds or sinceTime, not both");
	const sinceMs =
		sinceTime === null
			? sinceSeconds && nowMs - sinceSeconds * 1000
			: Date.parse(sinceTime);
	if (Number.isNaN(sinceMs))
		throw new LogOptionError(
			`sinceTime is "${sinceTime}"; it must be a time like 2026-01-31T00:00:00Z`,
		);
	const tailLines = number("tailLines", 0);
	const limitBytes = number("limitBytes", 1);
	return {
		follow: flag("follow"),
		timestamps: flag("timestamps"),
		previous: flag("previous"),
		...(sinceMs !== undefined && { sinceMs }),
		...(tailLines !== undefined && { tailLines }),
		...(limitBytes !== undefined && { limitBytes }),
	};
}

/**
 * Yields a container's log as the options ask. With `follow` it ends when the container has ended and all is read, or when
 * the signal fires.
 * @param growing the log of a running container; undefined when the container has ended.
 */
export async function* readLog(
	path: string,
	options: LogOptions,
	growing: ContainerLog | undefined,
	signal: AbortSignal,
): AsyncGenerator<Buffer> {
	let leftBytes = options.limitBytes ?? Number.POSITIVE_INFINITY;
	for await (const record of records(path, options, growing, signal)) {
		const text = render(record, options);
		if (!text) continue;
		yield text.subarray(0, leftBytes);
		leftBytes -= text.length;
		if (leftBytes <= 0) return;
	}
}

function render(record: Buffer, options: LogOptions): Buffer | undefined {
	const parsed = parseRecord(record);
	if (!parsed) return undefined;
	const { sinceMs = Number.NEGATIVE_INFINITY, timestamps } = options;
	if (Date.parse(parsed.time) < sinceMs) return undefined;
	return timestamps
		? Buffer.concat([Buffer.from(`${parsed.time} `), parsed.content])
		: parsed.content;
}

async function* records(
	path: string,
	{ tailLines, follow }: LogOptions,
	growing: ContainerLog | undefined,
	signal: AbortSignal,
): AsyncGenerator<Buffer> {
	let start = tailLines === undefined ? 0 : await tailStart(path, tailLines);
	let rest: Buffer = Buffer.alloc(0);
	for (;;) {
		// Before the read, or output between the read and this question would be lost.
		const isLast = !follow || !growing || growing.isClosed;
		for await (const chunk of createReadStream(path, { start })) {
			start += (chunk as Buffer).length;
			rest = Buffer.concat([rest, chunk as Buffer]);
			for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n")) {
				yield rest.subarray(0, end + 1);
				rest = rest.subarray(end + 1);
			}
		}
		if (isLast || signal.aborted) return;
		await growing.grownBeyond(start, signal);
	}
}

/** Where the last records of the file begin, in bytes. */
async function tailStart(path: string, records: number): Promise<number> {
	/** The starts of the latest records, and of the record that would come next. */
	const starts = [0];
	let position = 0;
	for await (const chunk of createReadStream(path)) {
		const bytes = chunk as Buffer;
		for (let end = bytes.indexOf("\n"); end !== -1; ) {
			starts.push(position + end + 1);
			if (starts.length > records + 1) starts.shift();
			end = bytes.indexOf("\n", end + 1);
		}
		position += bytes.length;
	}
	return starts[0]!;
}
