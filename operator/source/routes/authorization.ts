import { customTokenFault } from "../../../crds/custom-token.ts";
import type { Source, SourceWebhook } from "../../../crds/generated/types.ts";
import { signingKeys } from "../../../crds/signing-key.ts";
import {
	signingSecretDoubt,
	signingSecretFault,
} from "../../../crds/signing-secret.ts";
import type {
	CustomSignature,
	PublicKeyAlgorithm,
	Route,
	SignatureAuthorization,
	SigningAlgorithm,
} from "../../../packages/contracts/route.ts";
import type { Secret } from "../../../packages/kube/kinds.ts";
import {
	maxTriedKeys,
	publicKeysIn,
} from "../../../packages/service/public-keys.ts";
import type {
	SealKey,
	SecretSealer,
} from "../../../packages/service/seal-key.ts";
import { withoutLineEnd } from "../../../packages/service/secret-files.ts";
import type { Reason } from "../../reconcile/reasons.ts";
import { authorizationSecrets, namesIn } from "../../reconcile/secret-names.ts";
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

/** Of what people read in the list of refused requests. */
const maxCauseLength = 500;

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
			authorization: {
				type: "Unavailable",
				awaits: awaitedOf(source, deps),
				cause: message.slice(0, maxCauseLength),
			},
			problem: { reason, message },
		};
	}
}

/** The names of the Secrets that a Source's authorization refers to. */
export function secretNames(source: Source): string[] {
	return namesIn(authorizationSecrets(source));
}

class Unresolved extends Error {
	readonly reason: SourceProblem["reason"];

	constructor(reason: SourceProblem["reason"], message: string) {
		super(message);
		this.reason = reason;
	}
}

/** Only what needs a Secret can't be resolved. */
function awaitedOf(
	source: Source,
	deps: AuthorizationDeps,
): { type: "CustomToken" } | SignatureAuthorization {
	const { signature } = webhookOf(source).authorization;
	return signature
		? signatureWith([], signature, deps)
		: { type: "CustomToken" };
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
		case "JWT":
			return { type: "JWT", ...authorization.jwt! };
		case "Signature":
			return resolveSignature(source, authorization.signature!, deps);
	}
}

type Signature = NonNullable<SourceWebhook["authorization"]["signature"]>;

function resolveSignature(
	source: Source,
	signature: Signature,
	deps: AuthorizationDeps,
): SignatureAuthorization {
	const { scheme, secretRefs = [], custom } = signature;
	const sealKey = requireSealKey(deps);
	const keyRef = custom?.publicKey?.secretRef;
	const refs = keyRef ? [keyRef] : secretRefs;
	const keys = refs.flatMap((ref) => {
		const secret = withoutLineEnd(readSecret(source, ref, deps));
		const wrong = isProven(source)
			? undefined
			: signingSecretFault(scheme, secret);
		const found = keyRef
			? checkingKeys(custom.algorithm as PublicKeyAlgorithm, secret)
			: (wrong ?? signingKeys(scheme, secret, custom?.secretEncoding));
		if (typeof found === "string")
			throw new Unresolved(
				"SigningSecretInvalid",
				`Key "${ref.key}" of Secret "${ref.name}" ${found}. Copy the ${keyRef ? "public key" : "signing secret"} again from the sender's settings.`,
			);
		return found.map(({ algorithm, bytes }) => ({
			algorithm,
			sealed: sealKey.seal(bytes, deps.sourceKey),
			sealKeyId: sealKey.id,
			from: { secret: ref.name, key: ref.key },
		}));
	});
	if (computes(source) && keys.every(({ algorithm }) => algorithm !== "HMAC"))
		throw new Unresolved(
			"SigningSecretInvalid",
			"compute in spec.webhook.verification.challenges needs a signing secret, and secretRefs has only public keys. Add the secret that the sender shares with you.",
		);
	return signatureWith(keys, signature, deps);
}

/** Events have come by its secrets. Whatever they look like, it goes on. */
function isProven({ status }: Source): boolean {
	return (
		status?.lastEventTime !== undefined || status?.firstEventDate !== undefined
	);
}

/** What people should know of secrets that are accepted and look wrong; empty if they look right. */
export function doubtsOf(
	source: Source,
	secretOf: AuthorizationDeps["secretOf"],
): string {
	const { signature } = webhookOf(source).authorization;
	if (!signature) return "";
	return (signature.secretRefs ?? [])
		.flatMap(({ name, key }) => {
			const text = secretOf(name)?.data?.[key] ?? "";
			const secret = withoutLineEnd(Buffer.from(text, "base64").toString());
			const doubt =
				signingSecretFault(signature.scheme, secret) ??
				signingSecretDoubt(signature.scheme, secret);
			return doubt
				? ` Key "${key}" of Secret "${name}" ${doubt}. If senders get 401, copy it again from the sender's settings.`
				: [];
		})
		.join("");
}

function signatureWith(
	keys: SignatureAuthorization["keys"],
	{ scheme, toleranceSeconds, custom }: Signature,
	{ receiveURL }: AuthorizationDeps,
): SignatureAuthorization {
	const signsURL =
		scheme === "Twilio" || /\{(url|path)\}/.test(custom?.signedString ?? "");
	return {
		type: "Signature",
		scheme,
		keys,
		toleranceSeconds,
		...(signsURL && { baseURL: receiveURL }),
		...(custom && { custom: routeCustom(custom) }),
	};
}

/** Whether a challenge is answered with what only a secret can sign. */
function computes(source: Source): boolean {
	const { challenges = [] } = webhookOf(source).verification ?? {};
	return challenges.some(({ answer }) => answer.compute);
}

/** What receivers need of it. */
function routeCustom({
	publicKey,
	secretEncoding: _,
	...custom
}: NonNullable<Signature["custom"]>): CustomSignature {
	if (!publicKey) return custom;
	const { secretRef, ...place } = publicKey;
	return secretRef ? custom : { ...custom, publicKey: place };
}

interface KeyBytes {
	algorithm: SigningAlgorithm;
	bytes: Buffer;
}

/** The public keys in a text, or what is wrong with it. */
function checkingKeys(
	algorithm: PublicKeyAlgorithm,
	text: string,
): KeyBytes[] | string {
	const keys = publicKeysIn(text, algorithm);
	if (typeof keys === "string") return keys;
	return keys.slice(0, maxTriedKeys).map(({ key }) => {
		const bytes = key.export({ format: "der", type: "spki" });
		return {
			algorithm,
			bytes: algorithm === "Ed25519" ? bytes.subarray(-32) : bytes,
		};
	});
}

function requireSealKey({ sealKey }: AuthorizationDeps): SealKey {
	if (sealKey) return sealKey.current;
	throw new Unresolved(
		"SealKeyMissing",
		"The operator has no key to seal tokens and signing secrets with. Set TIDEMILL_SEAL_KEY of operator and receive to a file with the same random characters.",
	);
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

/** What a valid signature doesn't prove, for people; empty if it proves who wrote the body. */
export function unprovenOf(source: Source): string {
	const { type, signature } = webhookOf(source).authorization;
	if (type === "JWT")
		return " A token doesn't prove that the body is the provider's, because a JSON Web Token doesn't cover it: who sees a request can send its token with another body until the token expires.";
	const { bodyUnsigned, signedString = "" } = signature?.custom ?? {};
	const until = signedString.includes("{timestamp}")
		? `for ${signature!.toleranceSeconds} s`
		: "for ever";
	if (bodyUnsigned)
		return ` A signature doesn't prove that the body is the provider's, because bodyUnsigned is true: who sees a request can send its signature with another body ${until}.`;
	const hasDigest = /\{(body|bodyDigest:sha256)\}/.test(signedString);
	if (!signedString || hasDigest) return "";
	return ` A signature is weak proof that the body is the provider's, because signedString has only its CRC-32: who sees a request can make another body with the same one and send it ${until}.`;
}

/** A Source's settings of its webhook. Without `spec.webhook`, they are what the CRD makes of `webhook: {}`. */
export function webhookOf({ spec }: Source): SourceWebhook {
	return (
		spec.webhook ?? { authorization: { type: "None" }, maxBodyBytes: 1_048_576 }
	);
}
