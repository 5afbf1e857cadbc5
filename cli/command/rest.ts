import { claimsOf } from "../../packages/kube/client/token-claims.ts";
import { CommandError, UsageError } from "./errors.ts";
import type { ClusterOptions } from "./group.ts";
import {
	isLocalApi,
	type LocalToken,
	ownToken,
	readExport,
} from "./local-identity.ts";
import { didYouMean } from "./nearest.ts";

const timeoutMs = 30_000;
/** Well before a token of the person's own ends. */
const renewMs = 10 * 60_000;

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
 * is meant. For a local Tidemill, a token of the person's own takes the place of its file's. Throws {@link CommandError} if
 * either variable is missing, and {@link UsageError} if one can't be right.
 */
export function restApi(options: ClusterOptions): RestApi {
	const { TIDEMILL_API_URL: url, TIDEMILL_API_TOKEN: token } = process.env;
	if (!url || !token)
		throw new CommandError(
			"this needs the REST API. Set TIDEMILL_API_URL to its address, such as https://tidemill.example.com/v1, and TIDEMILL_API_TOKEN to a token (tidemill tokens create <name> --scope read)",
		);
	const base = baseOf(url);
	const given = tokenOf(token);
	const identity = identityFor(options, url, given);
	const ask = async (
		target: URL,
		{ headers, ...request }: RequestInit & { headers?: Record<string, string> },
	) => {
		const { token, namespace } = await identity();
		const answer = await fetch(target, {
			...request,
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
		const location = answer.headers.get("location");
		if (location !== null && answer.status >= 300 && answer.status < 400)
			throw new CommandError(
				`${target.host} answers that the REST API is elsewhere, where the token must not follow by itself. Set TIDEMILL_API_URL to the address behind: ${location}`,
			);
		if (!answer.ok)
			throw new RestError(
				answer.status,
				(await reasonOf(answer)) + adviceOf(answer.status, token, namespace),
			);
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

/** Who asks, as they are at each request: a followed list outlives its token. */
function identityFor(
	options: ClusterOptions,
	url: string,
	given: string,
): () => Promise<{ token: string; namespace: string | undefined }> {
	const plain = { token: given, namespace: options.namespace };
	if (!isLocalApi(url)) return async () => plain;
	let own: Promise<LocalToken | undefined> | undefined;
	let bornMs = 0;
	return async () => {
		if (own === undefined || Date.now() - bornMs > renewMs) {
			own = ownToken(options);
			bornMs = Date.now();
		}
		const home = process.env.TIDEMILL_HOME!;
		const current = readExport(home, "TIDEMILL_API_TOKEN") ?? given;
		return (await own) ?? { ...plain, token: current };
	};
}

/** The command that helps with a refusal here, or nothing. */
function adviceOf(
	status: number,
	token: string,
	namespace: string | undefined,
): string {
	const own = serviceAccountOf(token);
	const where = namespace ?? own?.namespace;
	const inNamespace = where ? ` -n ${where}` : "";
	if (status === 401)
		return `. Make a token and use it: export TIDEMILL_API_TOKEN="$(tidemill tokens create mine-$(date +%s) --scope edit${inNamespace})"`;
	if (status !== 403) return "";
	return own
		? `. Who administers the namespace can permit it: kubectl create rolebinding ${own.name}-editor --clusterrole=tidemill-editor --serviceaccount=${own.namespace}:${own.name}${inNamespace}`
		: `. Who administers the namespace can permit it: kubectl create rolebinding <name> --clusterrole=tidemill-editor --user=<you>${inNamespace}`;
}

/** The ServiceAccount whose token it is, which Kubernetes writes into it; undefined for another's. */
function serviceAccountOf(
	token: string,
): { namespace: string; name: string } | undefined {
	const { sub } = claimsOf(token);
	const [, namespace, name] =
		/^system:serviceaccount:([a-z0-9-]+):([a-z0-9.-]+)$/.exec(
			String(sub ?? ""),
		) ?? [];
	return namespace && name ? { namespace, name } : undefined;
}

async function reasonOf(answer: Response): Promise<string> {
	const problem = (await answer.json().catch(() => undefined)) as
		| { detail?: string; code?: string }
		| undefined;
	return problem?.detail
		? `${problem.detail} (${problem.code})`
		: `${new URL(answer.url).host} answered ${answer.status} without the REST API's own words. Does TIDEMILL_API_URL lead to it?`;
}
