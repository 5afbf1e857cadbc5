import { didYouMean } from "../../packages/service/nearest.ts";
import { refusalAdvice } from "./advice.ts";
import { CommandError, UsageError } from "./errors.ts";
import type { ClusterOptions } from "./group.ts";
import { type Identity, identityFor } from "./identity.ts";

const timeoutMs = 30_000;

/** The REST API, for what Kubernetes doesn't know: events, files, and requests that were refused. */
export interface RestApi {
	/** Gets a path below `/v1`. Throws {@link RestError} with the API's own words, and {@link CommandError} without an answer. */
	get(
		path: string,
		query?: Record<string, string | undefined>,
		request?: { headers?: Record<string, string>; signal?: AbortSignal },
	): Promise<Response>;
	/** Who asks. */
	identity(): Promise<Identity>;
	/** Posts JSON to a path below `/v1`. Throws as `get` does. */
	post(path: string, body: object): Promise<Response>;
}

type Request = RequestInit & { headers?: Record<string, string> };

/** The API refuses, or can't answer. */
export class RestError extends CommandError {
	readonly status: number;

	constructor(status: number, message: string) {
		super(message);
		this.status = status;
	}
}

/**
 * The API at TIDEMILL_API_URL, asked with TIDEMILL_API_TOKEN or with the person's own identity in the kubeconfig's cluster
 * ({@link identityFor}). `--namespace` names the account. Throws {@link CommandError} if the address is missing, and
 * {@link UsageError} if a variable can't be right.
 */
export function restApi(options: ClusterOptions): RestApi {
	const { TIDEMILL_API_URL: url, TIDEMILL_API_TOKEN: token } = process.env;
	if (!url)
		throw new CommandError(
			"this needs the REST API. Set TIDEMILL_API_URL to its address, such as https://tidemill.example.com/v1",
		);
	const base = baseOf(url);
	const given = token ? tokenOf(token) : undefined;
	const identities = identityFor(options, base, given);
	const send = (target: URL, request: Request, identity: Identity) => {
		const { token, namespace } = identity;
		const { headers, ...others } = request;
		return fetch(target, {
			...others,
			headers: {
				authorization: `Bearer ${token}`,
				...(namespace && { "tidemill-account": namespace }),
				...headers,
			},
			// The token must not go elsewhere.
			redirect: "manual",
			signal: request.signal ?? AbortSignal.timeout(timeoutMs),
		}).catch((error: Error) => {
			throw new CommandError(
				`${target.host} is unreachable: ${(error.cause as Error | undefined)?.message || error.message}`,
			);
		});
	};
	const ask = async (target: URL, request: Request) => {
		let identity = await identities.current();
		let answer = await send(target, request, identity);
		if (answer.status === 401) {
			const other = await identities.afterRefusal(identity);
			if (other) {
				identity = other;
				answer = await send(target, request, identity);
			}
		}
		const location = answer.headers.get("location");
		if (location !== null && answer.status >= 300 && answer.status < 400)
			throw new CommandError(
				`${target.host} answers that the REST API is elsewhere, where the token must not follow by itself. Set TIDEMILL_API_URL to the address behind: ${location}`,
			);
		if (!answer.ok) {
			const { status } = answer;
			const reason = await reasonOf(answer);
			const refusal = { status, reason, identity, options, url: base };
			throw new RestError(status, reason + (await refusalAdvice(refusal)));
		}
		const type = answer.headers.get("content-type") ?? "";
		if (!/^(application\/json|text\/event-stream|text\/plain)\b/.test(type))
			throw new CommandError(
				`${target.host} isn't Tidemill's REST API: it answers ${type || "without a Content-Type"} instead of JSON. Correct TIDEMILL_API_URL.`,
			);
		return answer;
	};
	const targetOf = (path: string) => new URL(base + path);
	/** Adds the Source that was meant to what the API says of one that isn't there. */
	const meant = async (path: string, error: unknown) => {
		const [, given] = /^\/sources\/([^/]+)\//.exec(path) ?? [];
		if (!given || !(error instanceof RestError) || error.status !== 404)
			return error;
		const list = await ask(targetOf("/sources?limit=100"), {})
			.then((answer) => answer.json())
			.catch(() => undefined);
		const { items = [] } = (list ?? {}) as { items?: { name: string }[] };
		const names = items.map(({ name }) => name);
		const name = decodeURIComponent(given);
		return names.includes(name)
			? error
			: new RestError(404, error.message + didYouMean(name, names));
	};
	return {
		identity: () => identities.current(),
		get: (path, query = {}, request = {}) => {
			const target = targetOf(path);
			for (const [name, value] of Object.entries(query))
				if (value !== undefined) target.searchParams.set(name, value);
			return ask(target, request).catch(async (error) => {
				throw await meant(path, error);
			});
		},
		post: (path, body) =>
			ask(targetOf(path), {
				method: "POST",
				headers: { "content-type": "application/json" },
				body: JSON.stringify(body),
			}),
	};
}

/** The API's address with its version, which people may leave out. */
function baseOf(text: string): string {
	const url = URL.parse(text.trim());
	const mistake = !url
		? "is not an address"
		: !/^https?:$/.test(url.protocol)
			? "must begin with https:// or http://"
			: url.username || url.password
				? "must have no user and no password: the token is in TIDEMILL_API_TOKEN"
				: url.search || url.hash
					? "must have no query and no fragment"
					: undefined;
	if (!url || mistake !== undefined)
		throw new UsageError(
			`TIDEMILL_API_URL ${mistake}. Set it to the REST API's address, such as https://tidemill.example.com/v1`,
		);
	const path = url.pathname.replace(/\/+$/, "");
	return url.origin + (path.endsWith("/v1") ? path : `${path}/v1`);
}

function tokenOf(text: string): string {
	const token = text.trim().replace(/^Bearer +/i, "");
	// RFC 6750, 2.1. Node's own message would show the token.
	if (/^[A-Za-z0-9._~+/-]+=*$/.test(token)) return token;
	throw new UsageError(
		"TIDEMILL_API_TOKEN has characters that no token has, such as a space or a line break. Copy it anew, or make one: tidemill tokens create <name> --scope read",
	);
}

async function reasonOf(answer: Response): Promise<string> {
	const problem = (await answer.json().catch(() => undefined)) as
		| { detail?: string; code?: string }
		| undefined;
	return problem?.detail
		? `${problem.detail} (${problem.code})`
		: `${new URL(answer.url).host} answered ${answer.status} without the REST API's own words. Does TIDEMILL_API_URL lead to it?`;
}
