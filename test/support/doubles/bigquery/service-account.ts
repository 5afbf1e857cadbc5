import { createVerify, generateKeyPairSync } from "node:crypto";

/** A Google service account's key made for a test, and the check that a request was signed with it. */
export interface ServiceAccount {
	/** The JSON of the key, as Google issues it (cloud.google.com/iam/docs/keys-create-delete). */
	keyJson: string;
	/** Whether a bearer token is a JWT that the key signed, that hasn't expired, and that is good for a scope (AIP-4111). */
	accepts(authorization: string | undefined, scope: string): boolean;
}

export function newServiceAccount(projectId: string): ServiceAccount {
	const { publicKey, privateKey } = generateKeyPairSync("rsa", {
		modulusLength: 2048,
	});
	const email = `loader@${projectId}.iam.gserviceaccount.com`;
	return {
		keyJson: JSON.stringify({
			type: "service_account",
			project_id: projectId,
			private_key_id: "1",
			private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
			client_email: email,
			client_id: "1",
			token_uri: "https://oauth2.googleapis.com/token",
		}),
		accepts: (authorization, scope) => {
			const [, head, payload, signature] =
				/^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(authorization ?? "") ?? [];
			if (!head || !payload || !signature) return false;
			const claims = JSON.parse(
				Buffer.from(payload, "base64url").toString(),
			) as { iss: string; exp: number; scope?: string };
			return (
				claims.iss === email &&
				claims.exp * 1000 > Date.now() &&
				claims.scope?.split(" ").includes(scope) === true &&
				createVerify("RSA-SHA256")
					.update(`${head}.${payload}`)
					.verify(publicKey, signature, "base64url")
			);
		},
	};
}

/** The JSON of a key that can't sign anything. @param id tells it from another one. */
export function uselessKey(id: string): string {
	return JSON.stringify({
		type: "service_account",
		client_email: "loader@project-1.iam.gserviceaccount.com",
		private_key: id,
	});
}
