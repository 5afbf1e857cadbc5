import {
	type Agent,
	type IncomingHttpHeaders,
	type OutgoingHttpHeaders,
	request,
} from "node:http";

export interface HttpAnswer {
	status: number;
	headers: IncomingHttpHeaders;
	/** The body, read as JSON. */
	json: ReturnType<typeof JSON.parse>;
}

/** One HTTP request exactly as given: no header is added for the body, no method or status is special. */
export function send(
	url: string,
	options: {
		method?: string;
		headers?: OutgoingHttpHeaders;
		body?: string | Uint8Array;
		agent?: Agent;
	} = {},
): Promise<HttpAnswer> {
	const { method = "POST", headers = {}, body = "", agent } = options;
	return new Promise((resolve, reject) => {
		const outgoing = request(
			url,
			{
				method,
				agent: agent ?? false,
				headers: { "content-length": Buffer.byteLength(body), ...headers },
			},
			async (answer) => {
				try {
					const text = Buffer.concat(await answer.toArray()).toString();
					resolve({
						status: answer.statusCode!,
						headers: answer.headers,
						json: text ? JSON.parse(text) : undefined,
					});
				} catch (error) {
					reject(error);
				}
			},
		);
		outgoing.on("error", reject);
		outgoing.end(body);
	});
}

/** The same with a JSON body and its Content-Type. */
export function sendJSON(
	url: string,
	body: string | Uint8Array,
	options: { headers?: OutgoingHttpHeaders; agent?: Agent } = {},
): Promise<HttpAnswer> {
	const headers = { "content-type": "application/json", ...options.headers };
	return send(url, { ...options, headers, body });
}

/** Returns when receive knows the URL: it learns of a Source a moment after the Source is Ready, and of any after its start. */
export async function untilKnown(url: string, agent?: Agent): Promise<void> {
	for (;;) {
		// Without a body there is no event in it.
		const { json } = await send(url, { ...(agent && { agent }) });
		if (!["UnknownURL", "NotReady"].includes(json?.error?.code)) return;
	}
}
