import { request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";

/** PEM texts for a server with one of our certificates. */
export interface ProbeTls {
	ca: string;
	cert?: string;
	key?: string;
}

/** Whether a GET gets a 200 within a second. */
export function answersOk(url: string, tls?: ProbeTls): Promise<boolean> {
	return new Promise((resolve) => {
		const options: RequestOptions = { timeout: 1_000, agent: false };
		const request = tls
			? httpsRequest(url, { ...options, ...tls })
			: httpRequest(url, options);
		request.on("response", (response) => {
			response.resume();
			resolve(response.statusCode === 200);
		});
		request.on("timeout", () => request.destroy());
		request.on("error", () => resolve(false));
		request.on("close", () => resolve(false));
		request.end();
	});
}
