import {
	customTokenFault,
	withoutLineEnd,
} from "../../../crds/custom-token.ts";
import type { Source, SourceWebhook } from "../../../crds/generated/types.ts";
import type {
	Route,
	SignatureAuthorization,
} from "../../../packages/contracts/route.ts";
import type { Secret } from "../../../packages/kube/kinds.ts";
import type {
	SealKey,
	SecretSealer,
} from "../../../packages/service/seal-key.ts";
import type { Reason } from "../../reconcile/reasons.ts";
import { secretValue } from "../../reconcile/secret-ref.ts";

/** Why a Source can't be served. Becomes its Ready condition. */
export interface SourceProblem {
	reason: Reason<"Source">;
	message: string;
}

/** What it takes to resolve an authorization. */
export interface AuthorizationDeps {
	/** A Secret of the Source's namespace, with or without the label; undefined if it doesn't exist. */
	secretOf(name: string): Secret | undefined;
	/** What receivers can open and compare; undefined if the operator has none. */
	sealKey: SecretSealer | undefined;
	sourceKey: string;
	/** What every webhook URL begins with. */
	receiveURL: string;
}

/** What senders must present. An authorization that can't be resolved is `Unavailable`, never open. */
export function authorize(
	source: Source,
	deps: AuthorizationDeps,
): { authorization: Route["authorization"]; problem?: SourceProblem } {
	try {
		return { authorization: resolve(source, deps) };
	} catch (error) {
		if (!(error instanceof Unresolved)) throw error;
		const { reason, message } = error;
		return {
			authorization: { type: "Unavailable" },
			problem: { reason, message },
		};
	}
}

/** The names of the Secrets that a Source's authorization refers to. */
export function secretNames(source: Source): string[] {
	const { customToken, signature } = webhookOf(source).authorization;
	const refs = customToken
		? [customToken.secretRef]
		: (signature?.secretRefs ?? []);
	return [...new Set(refs.map(({ name }) => name))];
}

class Unresolved extends Error {
	readonly reason: SourceProblem["reason"];

	constructor(reason: SourceProblem["reason"], message: string) {
		super(message);
		this.reason = reason;
	}
}

function resolve(
	source: Source,
	deps: AuthorizationDeps,
): Route["authorization"] {
	const { authorization } = webhookOf(source);
	switch (authorization.type) {
		case "None":
			return { type: "None" };
		case "CustomToken": {
			const { secretRef } = authorization.customToken!;
			const token = withoutLineEnd(readSecret(source, secretRef, deps));
			const fault = customTokenFault(token);
			if (fault)
				throw new Unresolved(
					"TokenInvalid",
					`Key "${secretRef.key}" of Secret "${secretRef.name}" ${fault}`,
				);
			const sealKey = requireSealKey(deps);
			return {
				type: "CustomToken",
				digests: [sealKey.digest(token, deps.sourceKey)],
				sealKeyId: sealKey.id,
			};
		}
		case "AmazonSNS":
			return { type: "AmazonSNS", ...authorization.amazonSNS! };
		case "Signature":
			return resolveSignature(source, authorization.signature!, deps);
	}
}

type Signature = NonNullable<SourceWebhook["authorization"]["signature"]>;

function resolveSignature(
	source: Source,
	{ scheme, secretRefs, toleranceSeconds, custom }: Signature,
	deps: AuthorizationDeps,
): SignatureAuthorization {
	const sealKey = requireSealKey(deps);
	const keys = secretRefs.map((ref) => {
		const secret = withoutLineEnd(readSecret(source, ref, deps));
		const key = signingKey(scheme, secret);
		if (typeof key === "string")
			throw new Unresolved(
				"SigningSecretInvalid",
				`Key "${ref.key}" of Secret "${ref.name}" ${key}. Copy the signing secret again from the sender's settings.`,
			);
		return {
			algorithm: key.algorithm,
			sealed: sealKey.seal(key.bytes, deps.sourceKey),
			sealKeyId: sealKey.id,
		};
	});
	if (computes(source) && keys.every(({ algorithm }) => algorithm !== "HMAC"))
		throw new Unresolved(
			"SigningSecretInvalid",
			"compute in spec.webhook.verification.challenges needs a signing secret, and secretRefs has only public keys. Add the secret that the sender shares with you.",
		);
	return {
		type: "Signature",
		scheme,
		keys,
		toleranceSeconds,
		...(scheme === "Twilio" && { baseURL: deps.receiveURL }),
		...(custom && { custom }),
	};
}

/** Whether a challenge is answered with what only a secret can sign. */
function computes(source: Source): boolean {
	const { challenges = [] } = webhookOf(source).verification ?? {};
	return challenges.some(({ answer }) => answer.compute);
}

function requireSealKey({ sealKey }: AuthorizationDeps): SealKey {
	if (sealKey) return sealKey.current;
	throw new Unresolved(
		"SealKeyMissing",
		"The operator has no key to seal tokens and signing secrets with. Set TIDEMILL_SEAL_KEY of operator and receive to a file with the same random characters.",
	);
}

/** The key in the text that a sender shows to people, or what is wrong with the text. */
function signingKey(
	scheme: Signature["scheme"],
	secret: string,
): { algorithm: "HMAC" | "Ed25519"; bytes: Buffer } | string {
	if (secret === "") return "is empty";
	if (scheme !== "StandardWebhooks" && scheme !== "Svix")
		return { algorithm: "HMAC", bytes: Buffer.from(secret) };
	// The prefixes of the specification: an optional one for a symmetric secret, and one for a public key.
	const [, prefix = "whsec_", base64 = ""] =
		/^(whsec_|whpk_)?([A-Za-z0-9+/]+=*)$/.exec(secret) ?? [];
	const bytes = Buffer.from(base64, "base64");
	if (bytes.length === 0)
		return 'is neither "whsec_" nor "whpk_" followed by Base64';
	if (prefix === "whsec_") return { algorithm: "HMAC", bytes };
	return bytes.length === 32
		? { algorithm: "Ed25519", bytes }
		: 'does not have the 32 bytes of an Ed25519 key after "whpk_"';
}

function readSecret(
	{ metadata: { namespace } }: Source,
	ref: { name: string; key: string },
	{ secretOf }: AuthorizationDeps,
): string {
	const found = secretValue(secretOf(ref.name), {
		...ref,
		namespace: namespace!,
		field: "the secretRef in spec.webhook.authorization",
	});
	if ("fault" in found)
		throw new Unresolved(found.fault.reason, found.fault.message);
	return found.value.toString();
}

/** A Source's settings of its webhook. Without `spec.webhook`, they are what the CRD makes of `webhook: {}`. */
export function webhookOf({ spec }: Source): SourceWebhook {
	return (
		spec.webhook ?? { authorization: { type: "None" }, maxBodyBytes: 1_048_576 }
	);
}
