import { ApiError, ApiUnavailable, type TidemillError } from "./errors.ts";

/** A token, or what returns the current one, such as the content of a mounted file that Kubernetes renews. */
export type Token = string | (() => string | Promise<string>);

export interface Access {
	/** Of the API, as https://tidemill-api.example/v1. */
	url: string;
	token: Token;
	/** The namespace, for a token that does not belong to a service account. */
	account: string | undefined;
	/** How long a request is repeated while the API is unreachable or busy. */
	retryMs: number;
	fetch: typeof fetch;
}

interface RequestParts {
	query?: Record<string, unknown>;
	headers?: Record<string, string | undefined>;
	body?: unknown;
	signal?: AbortSignal | undefined;
}

/** One event of a stream, by its name and with its data. */
export interface StreamedEvent {
	id?: string;
	event: string;
	data: Record<string, unknown>;
}

type Outcome =
	| { answer: Response; text: string }
	| { error: TidemillError; status: number | undefined; retryAfterMs: number };

/** Milliseconds, unless the API names more in Retry-After. */
const maxDelayMs = 15_000;

/** 429 and 503 are Tidemill's, the others those of a proxy in front of it (RFC 9110 §15.6). */
const busyStatuses: readonly number[] = [429, 502, 503, 504];

/** The API answers within 60 seconds, even if it waits for a Run. */
const timeoutMs = 90_000;
/** Three times as long as a stream of the API is silent. */
const maxSilenceMs = 30_000;

/** Sends requests and returns their answers. */
export class Api {
	readonly #access: Access;
	readonly #base: string;

	/** Throws if the URL is none. */
	constructor(access: Access) {
		if (!/^https?:\/\//.test(access.url))
			throw new TypeError(
				`The URL of the API must begin with https:// or http://, such as https://tidemill-api.example/v1, not ${JSON.stringify(access.url)}.`,
			);
		this.#access = access;
		this.#base = access.url.replace(/\/+$/, "").replace(/\/v1$/, "");
	}

	/** The answer's JSON, or undefined if it is empty. A page of something in between is an error. */
	async json<T>(method: string, path: string, parts: RequestParts): Promise<T> {
		const { answer, text } = await this.#send(method, path, parts);
		if (text === "") return undefined as T;
		try {
			return JSON.parse(text);
		} catch {
			throw answerError(answer, text);
		}
	}

	async text(method: string, path: string, parts: RequestParts) {
		return (await this.#send(method, path, parts)).text;
	}

	/** The events of a stream, until the server ends it. Throws {@link ApiUnavailable} if the connection is lost or silent. */
	async *events(
		method: string,
		path: string,
		{
			lastEventId,
			...parts
		}: RequestParts & { lastEventId?: string | undefined },
	): AsyncGenerator<StreamedEvent> {
		const headers = {
			...parts.headers,
			Accept: "text/event-stream",
			"Last-Event-ID": lastEventId,
		};
		const { answer } = await this.#send(method, path, { ...parts, headers });
		// Not every browser's streams are iterable.
		const reader = answer.body!.getReader();
		const decoder = new TextDecoder();
		let text = "";
		try {
			for (;;) {
				const { done, value } = await nextPart(reader).catch((cause) => {
					parts.signal?.throwIfAborted();
					const { message } = cause as Error;
					throw new ApiUnavailable(
						`The stream of ${method} ${path} broke off: ${message}.`,
						{ cause },
					);
				});
				if (done) return;
				text += decoder.decode(value, { stream: true });
				const blocks = text.split("\n\n");
				text = blocks.pop()!;
				for (const block of blocks) {
					const event = eventOf(block);
					if (event) yield event;
				}
			}
		} finally {
			// It fails again if the connection has failed.
			await reader.cancel().catch(() => {});
		}
	}

	/** The items of page after page. */
	async *pages<Item>(
		read: (page: { cursor?: string }) => Promise<{
			items: Item[];
			cursor?: string;
		}>,
	): AsyncGenerator<Item> {
		let page: { cursor?: string } = {};
		do {
			const { items, cursor } = await read(page);
			yield* items;
			page = cursor === undefined ? {} : { cursor };
		} while (page.cursor !== undefined);
	}

	async #send(method: string, path: string, parts: RequestParts) {
		const { retryMs } = this.#access;
		const isRepeatable =
			["GET", "PUT", "DELETE"].includes(method) ||
			parts.headers?.["Idempotency-Key"] !== undefined;
		const deadline = Date.now() + retryMs;
		for (let attempt = 1; ; attempt++) {
			const outcome = await this.#try(method, path, parts);
			if ("answer" in outcome) return outcome;
			const { error, status, retryAfterMs } = outcome;
			parts.signal?.throwIfAborted();
			const leftMs = deadline - Date.now();
			const delayMs = retryDelay(
				{ status, retryAfterMs, isRepeatable, attempt, leftMs },
				Math.random(),
			);
			if (delayMs === undefined) throw error;
			await pause(delayMs, parts.signal);
		}
	}

	/** Sends it once, with the token as it is now. */
	async #try(
		method: string,
		path: string,
		parts: RequestParts,
	): Promise<Outcome> {
		const { body, query = {}, headers = {}, signal } = parts;
		const url = new URL(this.#base + path);
		for (const [name, value] of Object.entries(query))
			if (value !== undefined) url.searchParams.set(name, String(value));
		const sent = new Headers({
			Accept: "application/json, text/plain",
			Authorization: await this.#authorization(),
		});
		if (this.#access.account)
			sent.set("Tidemill-Account", this.#access.account);
		if (body !== undefined)
			sent.set(
				"Content-Type",
				method === "PATCH"
					? "application/merge-patch+json"
					: "application/json",
			);
		for (const [name, value] of Object.entries(headers))
			if (value !== undefined) sent.set(name, value);
		const isStream = sent.get("Accept") === "text/event-stream";
		// Of a stream, the time until it begins.
		const late = new AbortController();
		const timer = setTimeout(
			() => late.abort(new Error(`no answer in ${timeoutMs / 1_000} s`)),
			timeoutMs,
		);
		try {
			const answer = await this.#access.fetch(url, {
				method,
				headers: sent,
				...(body !== undefined && { body: JSON.stringify(body) }),
				signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
			});
			const text = isStream && answer.ok ? "" : await answer.text();
			if (answer.ok) return { answer, text };
			const { status } = answer;
			const retryAfterMs =
				Number(answer.headers.get("Retry-After")) * 1_000 || 0;
			return { error: answerError(answer, text), status, retryAfterMs };
		} catch (cause) {
			const reason = (cause as Error).message;
			const error = new ApiUnavailable(
				`The API did not answer ${method} ${path}: ${reason}.`,
				{ cause },
			);
			return { error, status: undefined, retryAfterMs: 0 };
		} finally {
			clearTimeout(timer);
		}
	}

	/** The error never has the token, as that of `fetch` would. */
	async #authorization(): Promise<string> {
		const { token } = this.#access;
		const current = (typeof token === "string" ? token : await token()).trim();
		if (!/^[\x21-\x7e]+$/.test(current))
			throw new TypeError(
				"The token is empty or has characters that no token has. Make one by `tidemill tokens create`.",
			);
		return `Bearer ${current}`;
	}
}

/** The next part of a body. Throws if none comes for so long that the connection must be dead. */
async function nextPart(reader: ReadableStreamDefaultReader<Uint8Array>) {
	let timer: ReturnType<typeof setTimeout>;
	const silence = new Promise<never>((_, reject) => {
		timer = setTimeout(
			() => reject(new Error(`no byte in ${maxSilenceMs / 1_000} s`)),
			maxSilenceMs,
		);
	});
	return Promise.race([reader.read(), silence]).finally(() =>
		clearTimeout(timer),
	);
}

/** Undefined of a comment, by which the server shows that it is there. */
function eventOf(block: string): StreamedEvent | undefined {
	const fields = new Map(
		block
			.split("\n")
			.filter((line) => !line.startsWith(":"))
			.map((line) => {
				// Data may have U+2028, which ends a line for a regular expression.
				const colon = line.indexOf(":");
				return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
			}),
	);
	const [id, data] = [fields.get("id"), fields.get("data")];
	if (data === undefined) return undefined;
	return {
		...(id !== undefined && { id }),
		event: fields.get("event") ?? "message",
		data: JSON.parse(data),
	};
}

/** Resolves after so many milliseconds; throws the signal's reason if it is aborted before. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
	return new Promise((resolve, reject) => {
		const abort = () => {
			clearTimeout(timer);
			reject(signal!.reason);
		};
		const timer = setTimeout(() => {
			signal?.removeEventListener("abort", abort);
			resolve();
		}, ms);
		if (signal?.aborted) abort();
		signal?.addEventListener("abort", abort, { once: true });
	});
}

/** A request without an answer that counts. */
interface FailedAttempt {
	/** Undefined if nothing answered. `fetch` doesn't say whether such a request was sent. */
	status: number | undefined;
	/** As the API asks for. */
	retryAfterMs: number;
	/** Whether a repeat has no second effect. */
	isRepeatable: boolean;
	/** How often it was sent, from 1. */
	attempt: number;
	/** In which the client may retry. */
	leftMs: number;
}

/**
 * Milliseconds until the request is sent again, or undefined if it is not.
 *
 * @param random 0 to 1, so that clients don't return all at once.
 */
function retryDelay(failed: FailedAttempt, random: number) {
	const { status, retryAfterMs, isRepeatable, attempt, leftMs } = failed;
	if (status !== undefined && !busyStatuses.includes(status)) return undefined;
	if (!isRepeatable && status !== 429) return undefined;
	const backoffMs = Math.min(500 * 2 ** (attempt - 1), maxDelayMs);
	const delayMs = Math.max(backoffMs * (0.5 + random / 2), retryAfterMs);
	return delayMs <= leftMs ? delayMs : undefined;
}

/** An answer without the form of the API's errors comes from something in between. */
function answerError(answer: Response, text: string) {
	const { status, headers } = answer;
	try {
		const { code, detail, details = [] } = JSON.parse(text);
		if (typeof code === "string" && typeof detail === "string")
			return new ApiError(
				status,
				code,
				detail,
				details,
				headers.get("X-Request-Id") ?? "",
			);
	} catch {
		// It isn't JSON either.
	}
	const said = `HTTP ${status}: ${text.slice(0, 200)}`;
	if (busyStatuses.includes(status))
		return new ApiUnavailable(`Something in front of the API answered ${said}`);
	return new ApiError(
		status,
		"Unknown",
		`This is not the API's answer. ${said}`,
		[],
		"",
	);
}
