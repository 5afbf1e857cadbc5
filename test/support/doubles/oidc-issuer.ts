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
	stop(): Promise<void>;
}

const client = "ada";
const expectedAudience = "tidemill";

/**
 * An OpenID Connect issuer on loopback with TLS. The apiserver finds its keys by OpenID Connect Discovery 1.0
 * (kubernetes.io/docs/reference/access-authn-authz/authentication/#openid-connect-tokens).
 */
export async function startOidcIssuer(): Promise<OidcIssuer> {
	const directory = await temporaryDirectory("oidc");
	const pki = await ensurePki(join(directory, "pki"));
	const url = `https://127.0.0.1:${await freePort()}`;
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
		],
		jwks: { keys: [privateKey.export({ format: "jwk" })] },
		cookies: { keys: [randomBytes(16).toString("hex")] },
		extraTokenClaims: () => ({ groups: ["engineers"] }),
		features: {
			clientCredentials: { enabled: true },
			devInteractions: { enabled: false },
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
	const { cert, key } = pki.apiserver;
	const server = createServer({ cert, key }, provider.callback());
	server.listen(Number(new URL(url).port), "127.0.0.1");
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
