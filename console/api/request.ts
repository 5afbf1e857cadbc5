import { signal } from "@preact/signals";
import { shell } from "../messages/shell.ts";
import { namespace } from "../router/navigation.ts";
import { ApiProblem, problemOf } from "./problem.ts";

/** What is empty isn't sent. */
export type Query = Record<string, string | number | boolean | undefined>;

interface RequestOptions {
	query?: Query;
	body?: unknown;
	/** In place of `body`: JSON that goes as it is, since a parsed one loses digits. */
	bodyText?: string;
	headers?: Record<string, string>;
	signal?: AbortSignal | undefined;
	/** Another namespace than the address's. */
	namespace?: string;
}

/** An answer with its ETag, which a change of the resource sends back as `If-Match`. */
export interface TaggedAnswer<T> {
	value: T;
	etag: string | undefined;
}

/** Counts the answers that found no session any more. The shell asks for a sign-in then. */
export const sessionLost = signal(0);

/** Requests to the public REST API, as the visitor. Each throws an {@link ApiProblem}. */
export const api = {
	get: <T>(path: string, options?: RequestOptions) =>
		json<T>("GET", path, options),
	post: <T>(path: string, body?: unknown, options?: RequestOptions) =>
		json<T>("POST", path, { ...options, body }),
	put: <T>(path: string, body: unknown, options?: RequestOptions) =>
		json<T>("PUT", path, { ...options, body }),
	/** A merge patch (RFC 7386). */
	patch: <T>(path: string, body: unknown, options?: RequestOptions) =>
		json<T>("PATCH", path, { ...options, body }),
	delete: <T = undefined>(path: string, options?: RequestOptions) =>
		json<T>("DELETE", path, options),
	tagged,
	text: async (path: string, options?: RequestOptions) =>
		(await send("GET", path, options)).text(),
	/** The answer as it comes, for streams. */
	stream: (path: string, options?: RequestOptions) =>
		send("GET", path, options),
};

/** The answer's value with its ETag. */
async function tagged<T>(
	path: string,
	options?: RequestOptions,
): Promise<TaggedAnswer<T>> {
	const answer = await send("GET", path, options);
	const etag = answer.headers.get("etag") ?? undefined;
	return { value: (await answer.json()) as T, etag };
}

async function json<T>(
	method: string,
	path: string,
	options?: RequestOptions,
): Promise<T> {
	const answer = await send(method, path, options);
	const text = await answer.text();
	return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** @param path Below /v1 or, with a leading `console/`, below the console. */
export async function send(
	method: string,
	path: string,
	options: RequestOptions = {},
): Promise<Response> {
	const { query = {}, body, headers, signal: aborting } = options;
	const { bodyText = body === undefined ? undefined : JSON.stringify(body) } =
		options;
	const isConsole = path.startsWith("console/");
	const url = new URL(
		isConsole ? path.slice("console/".length) : `../v1/${path}`,
		new URL("./", document.baseURI),
	);
	for (const [name, value] of Object.entries(query))
		if (value !== undefined && value !== "")
			url.searchParams.set(name, String(value));
	let answer: Response;
	try {
		answer = await fetch(url, {
			method,
			credentials: "same-origin",
			headers: {
				"Tidemill-Console": "1",
				...(!isConsole && {
					"Tidemill-Account": options.namespace ?? namespace.value,
				}),
				...(bodyText !== undefined && { "Content-Type": "application/json" }),
				...headers,
			},
			...(bodyText !== undefined && { body: bodyText }),
			...(aborting && { signal: aborting }),
		});
	} catch (error) {
		if (aborting?.aborted) throw error;
		throw new ApiProblem(0, "Away", shell.noAnswer);
	}
	if (answer.ok) return answer;
	if (answer.status === 401 && !isConsole) sessionLost.value++;
	const requestId = answer.headers.get("x-request-id") ?? undefined;
	const retryAfter = answer.headers.get("retry-after") ?? undefined;
	throw problemOf(answer.status, await answer.text(), requestId, retryAfter);
}
