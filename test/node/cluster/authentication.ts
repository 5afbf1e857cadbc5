/** An OpenID Connect provider whose ID tokens the apiserver takes. */
export interface TokenIssuer {
	url: string;
	audience: string;
	/** Of the authority that signs the provider's certificate, as PEM. */
	ca: string;
}

/**
 * The apiserver's file of providers, which it reads again when it changes (KEP-3331). Users are `oidc:<sub>`, of the groups
 * `oidc:<group>`.
 */
export function authenticationConfig(issuers: readonly TokenIssuer[]): string {
	return JSON.stringify({
		apiVersion: "apiserver.config.k8s.io/v1",
		kind: "AuthenticationConfiguration",
		jwt: issuers.map(({ url, audience, ca }) => ({
			issuer: { url, audiences: [audience], certificateAuthority: ca },
			claimMappings: {
				username: { claim: "sub", prefix: "oidc:" },
				groups: { claim: "groups", prefix: "oidc:" },
			},
		})),
	});
}
