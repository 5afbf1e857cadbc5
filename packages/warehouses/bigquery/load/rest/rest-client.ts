// @google-cloud/bigquery: Google's client for jobs, datasets, tables and their metadata (docs/decisions/0038).

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { BigQuery } from "@google-cloud/bigquery";
// google-auth-library: tokens from a service account's key or workload identity, for Google's client and for uploads.
import { type AuthClient, GoogleAuth, JWT } from "google-auth-library";
import type { Logger } from "../../../../service/log.ts";
import { retry } from "../../../load/failure.ts";
import {
	googleUniverse,
	parseServiceAccountKey,
	type ServiceAccountKey,
} from "../../definition.ts";
import {
	BigQueryFailure,
	GoogleRefusal,
	type GoogleService,
	patienceFor,
} from "./google-refusal.ts";

export interface RestRequest {
	method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
	/** A path below the API's base URL, or a whole URL from the API. */
	path: string;
	query?: Record<string, string | string[]>;
	headers?: Record<string, string>;
	/** Bytes are sent as they are, anything else as JSON. */
	body?: object | Uint8Array;
}

/**
 * Sends requests to one of Google's services: those of uploads, of the bucket, and those that Google's client for BigQuery makes.
 * The client's own HTTP library would follow redirects, has no time limit and can't be told to stop.
 */
export class RestClient {
	readonly service: GoogleService;
	readonly #account: GoogleAccount;
	readonly endpoint: string;
	readonly #log: Logger;
	readonly #signal: AbortSignal;

	constructor(
		service: GoogleService,
		account: GoogleAccount,
		endpoint: string,
		{ log, signal }: { log: Logger; signal: AbortSignal },
	) {
		this.service = service;
		this.#account = account;
		this.endpoint = endpoint.replace(/\/+$/, "");
		this.#log = log;
		this.#signal = signal;
	}

	/**
	 * Returns the answer's JSON, undefined if empty. Repeats the request after a transient error, so it must be idempotent.
	 * Throws {@link GoogleRefusal}, {@link ConnectionFailed} or {@link JobFailure}.
	 */
	async call<T>(request: RestRequest): Promise<T> {
		return retry(
			{
				attempts: patienceFor,
				signal: this.#signal,
				isTransient,
				onRetry: (error, attempt) =>
					this.#log.warn(
						{ attempt, reason: (error as Error).message },
						`${this.service} failed to answer ${request.method} ${request.path}; trying again`,
					),
			},
			async () => {
				const response = await this.send(request);
				const text = await response.text();
				if (!response.ok) throw this.refusal(response, text);
				return (text ? JSON.parse(text) : undefined) as T;
			},
		);
	}

	/** Sends a request and returns its answer, whatever the status; if its token was refused, the answer with a new one. Throws {@link ConnectionFailed}. */
	async send(request: RestRequest): Promise<Response> {
		const response = await this.#send(request);
		// A token can end early, such as by a clock that is off or a key that was rotated.
		if (response.status !== 401) return response;
		await response.body?.cancel();
		await this.#tokenFrom(() => this.#account.renew());
		return this.#send(request);
	}

	async #send({
		method,
		path,
		query = {},
		headers = {},
		body,
	}: RestRequest): Promise<Response> {
		const url = new URL(path.startsWith("/") ? this.endpoint + path : path);
		for (const [name, values] of Object.entries(query))
			for (const value of [values].flat()) url.searchParams.append(name, value);
		const isBytes = body instanceof Uint8Array;
		const authorization = await this.#tokenFrom(() =>
			this.#account.headers(url),
		);
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

	/** Reads an answer that is no success. */
	refusal({ status, headers }: Response, body: string): GoogleRefusal {
		const retryAfter = headers.get("retry-after");
		return GoogleRefusal.ofAnswer(status, body, this.service, retryAfter);
	}

	async #tokenFrom<T>(work: () => Promise<T>): Promise<T> {
		try {
			return await untilStopped(this.#signal, work());
		} catch (error) {
			this.#signal.throwIfAborted();
			throw new BigQueryFailure(
				"CredentialsRefused",
				`Google gave no access token: ${(error as Error).message}`,
				{ cause: error },
			);
		}
	}
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
		(error instanceof GoogleRefusal && error.isTransient)
	);
}

/** Per request. Enough for a chunk of an upload at 64 KiB/s. */
const timeoutMs = 130_000;

/**
 * Google's client. What it rejects with is what {@link RestClient.call} throws: its retries are off, and ours know which
 * requests may be repeated.
 */
export function googleClient(projectId: string, client: RestClient): BigQuery {
	const google = new BigQuery({
		projectId,
		apiEndpoint: client.endpoint,
		autoRetry: false,
	});
	// Otherwise BIGQUERY_EMULATOR_HOST would decide where tokens and events go.
	google.baseUrl = `${client.endpoint}/bigquery/v2`;
	const carry = (
		{ method = "GET", uri: path, qs, json, headers = {} }: ClientRequest,
		callback: (error: unknown, body?: unknown) => void,
	) =>
		void client
			.call({
				headers,
				method,
				path,
				query: qs ?? {},
				...(json && { body: json }),
			})
			.then((body) => callback(null, body ?? {}), callback);
	Object.assign(google, { makeAuthenticatedRequest: carry });
	return google;
}

/** A request as the client hands it to its HTTP library. */
interface ClientRequest extends Pick<RestRequest, "headers"> {
	method?: RestRequest["method"];
	uri: string;
	qs?: RestRequest["query"];
	json?: object;
}

/** What tokens are good for (developers.google.com/identity/protocols/oauth2/scopes). */
export const scope = {
	bigQuery: "https://www.googleapis.com/auth/bigquery",
	storage: "https://www.googleapis.com/auth/devstorage.read_write",
} as const;

/**
 * The Job's Google account: a key's, or the workload identity. Throws {@link JobFailure} CredentialsMissing or
 * CredentialsRefused.
 */
export class GoogleAccount {
	readonly #open: () => Promise<AuthClient>;
	/** Where the key's project is: `googleapis.com`, unless it is in a cloud of its own. */
	readonly universe: string;
	client: AuthClient;

	static async open(scopes: string[]): Promise<GoogleAccount> {
		const keyFile = process.env.GOOGLE_APPLICATION_CREDENTIALS;
		if (!keyFile) {
			const open = () =>
				new GoogleAuth({ scopes }).getClient().catch(credentialsMissing);
			return new GoogleAccount(open, googleUniverse, await open());
		}
		const key = parseServiceAccountKey(
			await readFile(keyFile, "utf8").catch(credentialsMissing),
		);
		if (!key)
			throw new BigQueryFailure(
				"CredentialsRefused",
				"The credentials are not the JSON key of a Google service account",
			);
		const open = () => Promise.resolve(keyClient(key, scopes));
		return new GoogleAccount(open, key.universe, await open());
	}

	private constructor(
		open: () => Promise<AuthClient>,
		universe: string,
		client: AuthClient,
	) {
		this.#open = open;
		this.universe = universe;
		this.client = client;
	}

	/** The token, and the project whose quota pays for the request. */
	async headers(url: URL): Promise<Record<string, string>> {
		return Object.fromEntries(await this.client.getRequestHeaders(url));
	}

	/** Forgets the token: the next request gets another. */
	async renew(): Promise<void> {
		this.client = await this.#open();
	}
}

/** A key comes from an account, so Google's library, which follows what credentials of other kinds say, never sees the file. */
function keyClient(
	{ email, privateKey, id, quotaProject }: ServiceAccountKey,
	scopes: string[],
): AuthClient {
	const auth = new JWT({
		email,
		key: privateKey,
		...(id !== undefined && { keyId: id }),
		...(quotaProject !== undefined && { quotaProjectId: quotaProject }),
		scopes,
	});
	// The key signs its own tokens (AIP-4111), without a token server.
	auth.useJWTAccessWithScope = true;
	return auth;
}

function credentialsMissing(error: Error): never {
	throw new BigQueryFailure(
		"CredentialsMissing",
		`The Job has no Google credentials: ${error.message}`,
		{ cause: error },
	);
}

/** Google's library takes no AbortSignal: what it waits for goes on, and the process ends without it. */
export async function untilStopped<T>(
	signal: AbortSignal,
	work: Promise<T>,
): Promise<T> {
	const done = new AbortController();
	const stopped = once(signal, "abort", { signal: done.signal });
	try {
		return await Promise.race([
			work,
			stopped.then(() => Promise.reject(signal.reason)),
		]);
	} finally {
		done.abort();
	}
}
