// google-auth-library: Google's own credentials, from a key to workload identity. Google's client for BigQuery, built on
// it, uploads by multipart only, from the beginning after every failure, and can't be aborted (docs/decisions/0004).
import { type AuthClient, GoogleAuth, JWT } from "google-auth-library";
import type { BigQueryInput } from "../../../contracts/job.ts";
import type { Logger } from "../../../service/log.ts";
import { JobFailure } from "../errors.ts";
import { retry } from "../retry.ts";
import { BigQueryRefusal } from "./refusal.ts";

export interface RestRequest {
	method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
	/** Below the API's base URL, or a URL that the API gave. */
	path: string;
	query?: Record<string, string | string[]>;
	headers?: Record<string, string>;
	/** Sent as JSON; bytes as they are. */
	body?: object | Uint8Array;
	/** For people, after "refused to": "read dataset shop". */
	doing: string;
}

/** Speaks with BigQuery's REST API as the Job's Google account. */
export class RestClient {
	readonly #auth: AuthClient;
	readonly #endpoint: string;
	readonly #log: Logger;
	readonly #signal: AbortSignal;

	/** Throws {@link JobFailure} CredentialsMissing or CredentialsRefused. */
	static async open(
		{ apiEndpoint = "https://bigquery.googleapis.com" }: BigQueryInput,
		log: Logger,
		signal: AbortSignal,
	): Promise<RestClient> {
		let auth: AuthClient;
		try {
			auth = await new GoogleAuth({ scopes }).getClient();
		} catch (error) {
			throw new JobFailure(
				"CredentialsMissing",
				`There are no Google credentials here: ${(error as Error).message}`,
				{ cause: error },
			);
		}
		// A key signs for itself (AIP-4111): no token server stands between.
		if (auth instanceof JWT) auth.useJWTAccessWithScope = true;
		return new RestClient(auth, apiEndpoint.replace(/\/+$/, ""), log, signal);
	}

	private constructor(
		auth: AuthClient,
		endpoint: string,
		log: Logger,
		signal: AbortSignal,
	) {
		this.#auth = auth;
		this.#endpoint = endpoint;
		this.#log = log;
		this.#signal = signal;
	}

	/**
	 * The JSON of the answer; undefined for an empty one. Repeated while BigQuery or the network stumbles, so what it asks
	 * for must bear being asked twice. Throws {@link BigQueryRefusal} or {@link JobFailure}.
	 */
	async call<T>(request: RestRequest): Promise<T> {
		return retry(
			{
				attempts: 6,
				signal: this.#signal,
				transient: isTransient,
				onRetry: (error, attempt) =>
					this.#log.warn(
						{ attempt, reason: (error as Error).message },
						`BigQuery didn't ${request.doing}; trying again`,
					),
			},
			async () => {
				const response = await this.send(request);
				const text = await response.text();
				if (!response.ok) throw BigQueryRefusal.ofAnswer(response.status, text);
				return (text ? JSON.parse(text) : undefined) as T;
			},
		);
	}

	/** One request, one answer, of whatever status. Throws {@link ConnectionFailed}. */
	async send({
		method,
		path,
		query = {},
		headers = {},
		body,
	}: RestRequest): Promise<Response> {
		const url = new URL(path.startsWith("/") ? this.#endpoint + path : path);
		for (const [name, values] of Object.entries(query))
			for (const value of [values].flat()) url.searchParams.append(name, value);
		const isBytes = body instanceof Uint8Array;
		const authorization = await this.#headers(url);
		try {
			return await fetch(url, {
				method,
				headers: {
					...authorization,
					...(body && !isBytes && { "content-type": "application/json" }),
					...headers,
				},
				...(body && {
					body: isBytes
						? (body as Uint8Array<ArrayBuffer>)
						: JSON.stringify(body),
				}),
				redirect: "manual",
				signal: AbortSignal.any([this.#signal, AbortSignal.timeout(timeoutMs)]),
			});
		} catch (error) {
			this.#signal.throwIfAborted();
			throw new ConnectionFailed(url.host, error);
		}
	}

	async #headers(url: URL): Promise<Record<string, string>> {
		try {
			const headers = await this.#auth.getRequestHeaders(url);
			return Object.fromEntries(headers);
		} catch (error) {
			this.#signal.throwIfAborted();
			throw new JobFailure(
				"CredentialsRefused",
				`Google gave no access token: ${(error as Error).message}`,
				{ cause: error },
			);
		}
	}
}

/** No answer came. fetch itself says only "fetch failed"; the cause has the reason. */
export class ConnectionFailed extends Error {
	override name = "ConnectionFailed";

	constructor(host: string, error: unknown) {
		const { name, message, cause } = error as Error;
		const { code, message: why } = (cause ?? {}) as NodeJS.ErrnoException;
		const words = name === "TimeoutError" ? "no answer in time" : message;
		super(`${host}: ${code || why || words}`, { cause: error });
	}
}

export function isTransient(error: unknown): boolean {
	return (
		error instanceof ConnectionFailed ||
		(error instanceof BigQueryRefusal && error.isTransient)
	);
}

const scopes = ["https://www.googleapis.com/auth/bigquery"];
/** Of one request: a chunk of an upload at 64 KiB/s. */
const timeoutMs = 130_000;
