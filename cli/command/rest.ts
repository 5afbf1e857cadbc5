import { CommandError } from "./errors.ts";
import type { ClusterOptions } from "./group.ts";

const timeoutMs = 30_000;

/** The REST API, for what Kubernetes doesn't know: events, files, and requests that were refused. */
export interface RestApi {
	/** Gets a path below `/v1`. Throws {@link RestError} with the API's own words, and {@link CommandError} without an answer. */
	get(
		path: string,
		query?: Record<string, string | undefined>,
		request?: { headers?: Record<string, string>; signal?: AbortSignal },
	): Promise<Response>;
	/** Posts JSON to a path below `/v1`. Throws as `get` does. */
	post(path: string, body: object): Promise<Response>;
}

/** The API refuses, or can't answer. */
export class RestError extends CommandError {
	readonly status: number;

	constructor(status: number, message: string) {
		super(message);
		this.status = status;
	}
}

/**
 * The API that TIDEMILL_API_URL and TIDEMILL_API_TOKEN lead to. `--namespace` names the account; without it, the token's own
 * is meant. Throws {@link CommandError} if either variable is missing.
 */
export function restApi({ namespace }: ClusterOptions): RestApi {
	const { TIDEMILL_API_URL: url, TIDEMILL_API_TOKEN: token } = process.env;
	if (!url || !token)
		throw new CommandError(
			"this needs the REST API. Set TIDEMILL_API_URL to its address, such as https://tidemill.example.com/v1, and TIDEMILL_API_TOKEN to a token (tidemill tokens create <name> --scope read)",
		);
	const ask = async (
		target: URL,
		{ headers, ...request }: RequestInit & { headers?: Record<string, string> },
	) => {
		const answer = await fetch(target, {
			...request,
			headers: {
				authorization: `Bearer ${token}`,
				...(namespace && { "tidemill-account": namespace }),
				...headers,
			},
			// The token must not go elsewhere.
			redirect: "error",
			signal: request.signal ?? AbortSignal.timeout(timeoutMs),
		}).catch((error: Error) => {
			throw new CommandError(
				`${target.host} is unreachable: ${(error.cause as Error | undefined)?.message ?? error.message}`,
			);
		});
		if (!answer.ok) throw new RestError(answer.status, await reasonOf(answer));
		return answer;
	};
	const targetOf = (path: string) => new URL(url.replace(/\/+$/, "") + path);
	return {
		get: (path, query = {}, request = {}) => {
			const target = targetOf(path);
			for (const [name, value] of Object.entries(query))
				if (value !== undefined) target.searchParams.set(name, value);
			return ask(target, request);
		},
		post: (path, body) =>
			ask(targetOf(path), {
				method: "POST",
				headers: { "content-type": "application/json" },
				body: JSON.stringify(body),
			}),
	};
}

async function reasonOf(answer: Response): Promise<string> {
	const problem = (await answer.json().catch(() => undefined)) as
		| { detail?: string; code?: string }
		| undefined;
	return problem?.detail
		? `${problem.detail} (${problem.code})`
		: `the REST API answered ${answer.status}`;
}
