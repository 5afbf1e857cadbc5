import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { createServer, request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
// oidc-provider: an OpenID Connect issuer that is certified to be one.
import Provider from "oidc-provider";
import { freePort } from "../../../local/machine/ports.ts";
import { ensurePki } from "../../../local/servers/pki.ts";
import { temporaryDirectory } from "../servers/test-server.ts";

export interface OidcIssuer {
	/** Flags with which a kube-apiserver takes its tokens: users are `oidc:<client>`, of the group `oidc:engineers`. */
	apiserverFlags: string[];
	/** A signed token of the client `ada`, for an audience that the apiserver expects or another one. */
	token(audience?: string): Promise<string>;
	url: string;
	/** Of the authority that signs the issuer's certificate. */
	ca: string;
	/** Of the host, for other servers on it. */
	certificate: { certFile: string; keyFile: string };
	/** The client whose ID tokens the apiserver takes. It may send browsers back to {@link redirectUri} alone, unless the test says other addresses. */
	clientId: string;
	clientSecret: string;
	/** Does what a person does in a browser that an application has sent here, and returns the URL that it is sent back to. */
	signIn(authorizationUrl: string, login: string): Promise<string>;
	stop(): Promise<void>;
}

const client = "ada";
const expectedAudience = "tidemill";
/** Of an application that tests reach without listening. */
export const redirectUri =
	"http://127.0.0.1:8090/console/session/oidc/callback";

/**
 * An OpenID Connect issuer on loopback with TLS. The apiserver finds its keys by OpenID Connect Discovery 1.0
 * (kubernetes.io/docs/reference/access-authn-authz/authentication/#openid-connect-tokens).
 */
export async function startOidcIssuer({
	host = "127.0.0.1",
	redirectUris = [redirectUri],
	groupsOf = () => ["engineers"],
}: {
	/** An address of this machine. */
	host?: string;
	redirectUris?: string[];
	/** Of somebody who signs in. */
	groupsOf?: (login: string) => string[];
} = {}): Promise<OidcIssuer> {
	const directory = await temporaryDirectory("oidc");
	const pki = await ensurePki(join(directory, "pki"), Date.now(), {
		issuer: { issuer: "ca", name: "CN=issuer", hosts: [host] },
	});
	const url = `https://${host}:${await freePort()}`;
	const secret = randomBytes(16).toString("hex");
	const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
	const provider = new Provider(url, {
		clients: [
			{
				client_id: client,
				client_secret: secret,
				grant_types: ["client_credentials"],
				redirect_uris: [],
				response_types: [],
			},
			{
				client_id: expectedAudience,
				client_secret: secret,
				application_type: "native",
				grant_types: ["authorization_code"],
				redirect_uris: redirectUris,
				response_types: ["code"],
			},
		],
		pkce: { required: () => true },
		// The apiserver reads the ID token alone.
		conformIdTokenClaims: false,
		claims: { openid: ["sub", "groups"] },
		findAccount: (_, sub) => ({
			accountId: sub,
			claims: () => ({ sub, groups: groupsOf(sub) }),
		}),
		jwks: { keys: [privateKey.export({ format: "jwk" })] },
		cookies: { keys: [randomBytes(16).toString("hex")] },
		extraTokenClaims: () => ({ groups: ["engineers"] }),
		features: {
			clientCredentials: { enabled: true },
			// Its forms are for development, and so for tests.
			devInteractions: { enabled: true },
			resourceIndicators: {
				enabled: true,
				getResourceServerInfo: (_, resource) => ({
					scope: "",
					audience: new URL(resource).hostname,
					accessTokenFormat: "jwt",
					jwt: { sign: { alg: "RS256" } },
				}),
			},
		},
	});
	const { cert, key, certFile, keyFile } = pki.issuer;
	const server = createServer({ cert, key }, provider.callback());
	server.listen(Number(new URL(url).port), host);
	await once(server, "listening");
	return {
		apiserverFlags: [
			`--oidc-issuer-url=${url}`,
			`--oidc-client-id=${expectedAudience}`,
			`--oidc-ca-file=${pki.ca.certFile}`,
			"--oidc-username-claim=sub",
			"--oidc-username-prefix=oidc:",
			"--oidc-groups-claim=groups",
			"--oidc-groups-prefix=oidc:",
		],
		url,
		ca: pki.ca.cert,
		certificate: { certFile, keyFile },
		clientId: expectedAudience,
		clientSecret: secret,
		signIn: (authorizationUrl, login) =>
			walkThrough(authorizationUrl, login, pki.ca.cert),
		async token(audience = expectedAudience) {
			const asking = request(`${url}/token`, {
				method: "POST",
				ca: pki.ca.cert,
				auth: `${client}:${secret}`,
				headers: { "content-type": "application/x-www-form-urlencoded" },
			});
			asking.end(
				String(
					new URLSearchParams({
						grant_type: "client_credentials",
						resource: `https://${audience}`,
					}),
				),
			);
			const [answer] = (await once(asking, "response")) as [IncomingMessage];
			return JSON.parse(await text(answer)).access_token;
		},
		async stop() {
			server.closeAllConnections();
			server.close();
			await once(server, "close");
			await rm(directory, { recursive: true, force: true });
		},
	};
}

/** Follows redirects and sends the forms on the way, with the issuer's cookies, until another site is next. */
async function walkThrough(
	from: string,
	login: string,
	ca: string,
): Promise<string> {
	const { origin } = new URL(from);
	const cookies = new Map<string, string>();
	const send = async (url: string, form?: Record<string, string>) => {
		const asking = request(url, {
			method: form ? "POST" : "GET",
			ca,
			headers: {
				cookie: [...cookies].map((pair) => pair.join("=")).join("; "),
				...(form && { "content-type": "application/x-www-form-urlencoded" }),
			},
		});
		asking.end(form && String(new URLSearchParams(form)));
		const [answer] = (await once(asking, "response")) as [IncomingMessage];
		for (const line of answer.headers["set-cookie"] ?? []) {
			const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
			cookies.set(name!, value!);
		}
		return { answer, html: await text(answer) };
	};
	let next = from;
	for (let steps = 0; steps < 20; steps++) {
		const { answer, html } = await send(next);
		const { location } = answer.headers;
		if (location) {
			next = new URL(location, next).href;
			if (!next.startsWith(`${origin}/`)) return next;
			continue;
		}
		const prompt = /name="prompt" value="(\w+)"/.exec(html)?.[1];
		const action = /<form[^>]* action="([^"]+)"/.exec(html)?.[1];
		if (!prompt || !action) throw new Error(`no form at ${next}: ${html}`);
		const form = {
			prompt,
			...(prompt === "login" && { login, password: "-" }),
		};
		const done = await send(new URL(action, next).href, form);
		next = new URL(done.answer.headers.location!, next).href;
	}
	throw new Error("the issuer goes in circles");
}
