import { type CallOptions, openRequest } from "./checked-request.ts";

/** What came back, if it came whole with the status 200. */
export type GetOutcome = { text: string } | { error: string };

/** Sends one GET and reads a short answer. Follows no redirect. Never throws. */
export async function getText(
	url: string,
	maxBytes: number,
	options: CallOptions,
): Promise<GetOutcome> {
	const opened = openRequest(url, { method: "GET", headers: {} }, options);
	if ("error" in opened) return opened;
	const { request, errorOf } = opened;
	const { promise, resolve } = Promise.withResolvers<GetOutcome>();
	request.on("response", (response) => {
		const parts: Buffer[] = [];
		let bytes = 0;
		const end = (outcome: GetOutcome) => {
			resolve(outcome);
			response.destroy();
		};
		if (response.statusCode !== 200)
			end({ error: `The answer has status ${response.statusCode}.` });
		response.on("data", (part: Buffer) => {
			parts.push(part);
			bytes += part.length;
			if (bytes > maxBytes)
				end({ error: `The answer is longer than ${maxBytes} bytes.` });
		});
		response.on("end", () => end({ text: Buffer.concat(parts).toString() }));
		response.on("error", (error) => end({ error: errorOf(error) }));
	});
	request.on("error", (error) => resolve({ error: errorOf(error) }));
	request.on("close", () =>
		resolve({ error: "The connection ended without a whole answer." }),
	);
	request.end();
	return promise;
}
