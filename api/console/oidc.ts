// oauth4webapi: the code flow by the letter of OAuth 2.1 and OpenID Connect, on fetch and without dependencies of its own.
import * as oauth from "oauth4webapi";

/** An OpenID Connect provider whose ID tokens the apiserver takes (`--oidc-issuer-url`, `--oidc-client-id`). */
export interface OidcOptions {
	issuer: string;
	clientId: string;
	/** Read for each sign-in, since it may be rotated. Undefined for a public client, which PKCE protects alone. */
	clientSecret?: (() => string) | undefined;
	/** Separated by spaces, `openid` among them. */
	scopes: string;
}

/** What the browser keeps, sealed, while its visitor is at the provider. */
export interface OidcAttempt {
	state: string;
	nonce: string;
	verifier: string;
	expiresAtMs: number;
}

/** How long a visitor may take at the provider. */
const attemptMs = 10 * 60_000;
const timeoutMs = 10_000;

/** Signs people in by the authorization code flow (OpenID Connect Core §3.1) with PKCE (RFC 7636). It keeps nothing. */
export class OidcSignIn {
	readonly #options: OidcOptions;
	readonly #client: oauth.Client;

	constructor(options: OidcOptions) {
		this.#options = options;
		this.#client = { client_id: options.clientId };
	}

	/** Where to send the browser, and what it has to bring back. */
	async begin(
		redirectUri: string,
		now = Date.now(),
	): Promise<{ location: string; attempt: OidcAttempt }> {
		const { authorization_endpoint: endpoint } = await this.#discover();
		const attempt = {
			state: oauth.generateRandomState(),
			nonce: oauth.generateRandomNonce(),
			verifier: oauth.generateRandomCodeVerifier(),
			expiresAtMs: now + attemptMs,
		};
		const location = new URL(endpoint!);
		const { clientId, scopes } = this.#options;
		for (const [name, value] of Object.entries({
			client_id: clientId,
			redirect_uri: redirectUri,
			response_type: "code",
			scope: scopes,
			state: attempt.state,
			nonce: attempt.nonce,
			code_challenge: await oauth.calculatePKCECodeChallenge(attempt.verifier),
			code_challenge_method: "S256",
		}))
			location.searchParams.set(name, value);
		return { location: location.href, attempt };
	}

	/** The ID token for what the provider sent back. Throws unless it belongs to the attempt. */
	async end(
		callback: URLSearchParams,
		redirectUri: string,
		{ state, nonce, verifier, expiresAtMs }: OidcAttempt,
		now = Date.now(),
	): Promise<string> {
		if (now >= expiresAtMs) throw new Error("it took longer than ten minutes");
		const { clientSecret } = this.#options;
		const server = await this.#discover();
		const parameters = oauth.validateAuthResponse(
			server,
			this.#client,
			callback,
			state,
		);
		const response = await oauth.authorizationCodeGrantRequest(
			server,
			this.#client,
			clientSecret ? oauth.ClientSecretBasic(clientSecret()) : oauth.None(),
			parameters,
			redirectUri,
			verifier,
			{ signal: AbortSignal.timeout(timeoutMs) },
		);
		const { id_token: token } = await oauth.processAuthorizationCodeResponse(
			server,
			this.#client,
			response,
			{ expectedNonce: nonce, requireIdToken: true },
		);
		return token!;
	}

	async #discover(): Promise<oauth.AuthorizationServer> {
		const issuer = new URL(this.#options.issuer);
		const answer = await oauth.discoveryRequest(issuer, {
			signal: AbortSignal.timeout(timeoutMs),
		});
		return oauth.processDiscoveryResponse(issuer, answer);
	}
}
