import { readFile } from "node:fs/promises";
// google-auth-library: tokens from a service account's key or workload identity. Google's BigQuery client, built on it,
// uploads only by multipart, starts over after each failure, and can't be aborted (docs/decisions/0004).
import { type AuthClient, GoogleAuth, JWT } from "google-auth-library";
import { type BigQueryInput, jobEnv } from "../../../contracts/job.ts";
import { parseServiceAccountKey } from "../../../contracts/service-account-key.ts";
import type { Logger } from "../../../service/log.ts";
import { JobFailure } from "../../job/errors.ts";
import { retry } from "../../job/retry.ts";
import { BigQueryRefusal } from "./refusal.ts";

export interface RestRequest {
	method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
	/** A path below the API's base URL, or a whole URL from the API. */
	path: string;
	query?: Record<string, string | string[]>;
	headers?: Record<string, string>;
	/** Bytes are sent as they are, anything else as JSON. */
	body?: object | Uint8Array;
	/** Follows "refused to" in messages: "read dataset shop". */
	action: string;
}

/** Calls BigQuery's REST API as the Job's Google account. */
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
		const keyFile = process.env[jobEnv.credentials];
		const auth = keyFile ? await keyClient(keyFile) : await identityClient();
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
	 * Returns the answer's JSON, undefined if empty. Repeats the request after a transient error, so it must be idempotent.
	 * Throws {@link BigQueryRefusal}, {@link ConnectionFailed} or {@link JobFailure}.
	 */
	async call<T>(request: RestRequest): Promise<T> {
		return retry(
			{
				attempts: 6,
				signal: this.#signal,
				isTransient,
				onRetry: (error, attempt) =>
					this.#log.warn(
						{ attempt, reason: (error as Error).message },
						`BigQuery failed to ${request.action}; trying again`,
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

	/** Sends one request and returns its answer, whatever the status. Throws {@link ConnectionFailed}. */
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

/** A key comes from an account, so Google's library, which follows what credentials of other kinds say, never sees the file. */
async function keyClient(file: string): Promise<AuthClient> {
	const key = parseServiceAccountKey(
		await readFile(file, "utf8").catch(credentialsMissing),
	);
	if (!key)
		throw new JobFailure(
			"CredentialsRefused",
			"The credentials are not the JSON key of a Google service account",
		);
	const { email, privateKey, id } = key;
	const auth = new JWT({
		email,
		key: privateKey,
		...(id !== undefined && { keyId: id }),
		scopes,
	});
	// The key signs its own tokens (AIP-4111), without a token server.
	auth.useJWTAccessWithScope = true;
	return auth;
}

function identityClient(): Promise<AuthClient> {
	return new GoogleAuth({ scopes }).getClient().catch(credentialsMissing);
}

function credentialsMissing(error: Error): never {
	throw new JobFailure(
		"CredentialsMissing",
		`The Job has no Google credentials: ${error.message}`,
		{ cause: error },
	);
}

/** No answer came. fetch says only "fetch failed"; its cause has the reason. */
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
/** Per request. Enough for a chunk of an upload at 64 KiB/s. */
const timeoutMs = 130_000;
