import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { htmlText } from "../../packages/escapes/markup.ts";
import type { SecretSealer } from "../../packages/service/seal-key.ts";
import { requestErrorOf } from "../http/error-translation.ts";
import { pageHeaders, pathPrefix } from "./files.ts";
import { type OidcAttempt, type OidcOptions, OidcSignIn } from "./oidc.ts";
import { requireOwnHost } from "./own-page.ts";
import {
	cookieAttributes,
	hostCookie,
	openedValue,
	sealedValue,
} from "./sealed-cookie.ts";

const purpose = "console sign-in at a provider";
const path = "/console/session/oidc";
/** More doesn't fit into a cookie beside the rest, and the visitor comes to the console's start. */
const maxPageLength = 1_500;

interface OidcParts {
	options: OidcOptions;
	keys: SecretSealer;
	hosts: ReadonlySet<string>;
	isProxy: (address: string) => boolean;
	/** Begins the session of a token. Throws if the apiserver doesn't accept it. */
	open(
		request: FastifyRequest,
		reply: FastifyReply,
		token: string,
	): Promise<void>;
}

/** What a browser keeps of a sign-in, with the page that it comes back to. */
interface KeptAttempt extends OidcAttempt {
	/** Below the console. */
	page: string;
}

/**
 * `GET /console/session/oidc` sends the browser to the provider, which sends it back to `…/callback`. What belongs together stands
 * in a sealed cookie of the same browser, so nobody can end a sign-in that another one has begun. The cookie comes along from
 * another site's page, so it is SameSite=Lax. `?page=` is where in the console the visitor wants to be afterwards.
 */
export function serveOidc(api: FastifyInstance, parts: OidcParts): void {
	const { keys, hosts, isProxy, open } = parts;
	const provider = new OidcSignIn(parts.options);
	const cookie = (request: FastifyRequest) =>
		hostCookie("tidemill-console-oidc", request);
	const home = (request: FastifyRequest) =>
		`${request.protocol}://${request.host}${pathPrefix(request, isProxy)}/console/`;
	/** An address below the console; empty for any other, which somebody else may have written into a link. */
	const pageOf = (page: unknown, request: FastifyRequest) => {
		const start = home(request);
		if (typeof page !== "string" || !URL.canParse(page, start)) return "";
		const { href } = new URL(page, start);
		const below = href.slice(start.length);
		const isPage = href.startsWith(start) && !/^session\b/.test(below);
		return isPage && below.length <= maxPageLength ? below : "";
	};
	const redirectUri = (request: FastifyRequest) =>
		`${home(request)}session/oidc/callback`;
	const fail = (
		request: FastifyRequest,
		reply: FastifyReply,
		error: unknown,
	) => {
		request.server.apiLog.warn(
			{ request: request.id, err: error },
			"a sign-in at the provider failed",
		);
		const { status, message } = requestErrorOf(error);
		const words =
			status === 500
				? `The sign-in at your provider failed. Your administrator finds the reason in the API's log, by the request ${request.id}.`
				: status === 401
					? "The cluster doesn't accept the ID token of your provider. Your administrator compares API_CONSOLE_OIDC_ISSUER and API_CONSOLE_OIDC_CLIENT_ID with the apiserver's --oidc-issuer-url and --oidc-client-id."
					: message;
		return reply
			.code(status === 500 ? 502 : status)
			.headers(pageHeaders)
			.type("text/html; charset=utf-8")
			.send(failedPage(words, home(request)));
	};

	api.get(path, async (request, reply) => {
		requireOwnHost(request, hosts);
		try {
			const { location, attempt } = await provider.begin(redirectUri(request));
			const { page } = request.query as { page?: unknown };
			const kept: KeptAttempt = { ...attempt, page: pageOf(page, request) };
			reply.setCookie(cookie(request), sealedValue(keys, purpose, kept), {
				...cookieAttributes(request, "lax"),
				expires: new Date(attempt.expiresAtMs),
			});
			return reply.redirect(location, 303);
		} catch (error) {
			return fail(request, reply, error);
		}
	});

	api.get(`${path}/callback`, async (request, reply) => {
		requireOwnHost(request, hosts);
		reply.clearCookie(cookie(request), cookieAttributes(request, "lax"));
		try {
			const header = request.headers.cookie ?? "";
			const value = request.server.parseCookie(header)[cookie(request)] ?? "";
			const attempt = openedValue<KeptAttempt>(keys, purpose, value);
			const { searchParams } = new URL(request.url, home(request));
			const token = await provider.end(
				searchParams,
				redirectUri(request),
				attempt,
			);
			await open(request, reply, token);
			return reply.redirect(home(request) + pageOf(attempt.page, request), 303);
		} catch (error) {
			return fail(request, reply, error);
		}
	});
}

function failedPage(words: string, home: string): string {
	return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Tidemill</title>
<h1>You aren't signed in</h1>
<p>${htmlText(words)}</p>
<p><a href="${htmlText(home)}">Back to the console</a></p>
</html>
`;
}
