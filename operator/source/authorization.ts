import type { Route, SignatureAuthorization } from "../../contracts/route.ts";
import type { Source } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import type { Secret } from "../../kube/kinds.ts";
import type { Reason } from "../reconcile/reasons.ts";
import { digest } from "./keys.ts";

/** Why a Source can't be served as it asks; becomes its Ready condition. */
export interface Problem {
	reason: Reason<"Source">;
	message: string;
}

/** What an authorization is resolved from. */
export interface AuthorizationMeans {
	/** A Secret of the Source's namespace, with its label or without; undefined when there is none. */
	secretOf(name: string): Secret | undefined;
	/** Seals a signing secret for the Source; undefined when there is no key to do it with. */
	seal: ((secret: Buffer) => string) | undefined;
}

/** What receivers must ask of senders. Whatever can't be resolved is `Unavailable`, never open. */
export function authorize(
	source: Source,
	means: AuthorizationMeans,
): { authorization: Route["authorization"]; problem?: Problem } {
	try {
		return { authorization: resolve(source, means) };
	} catch (error) {
		if (!(error instanceof Unresolved)) throw error;
		const { reason, message } = error;
		return {
			authorization: { type: "Unavailable" },
			problem: { reason, message },
		};
	}
}

/** Names of the Secrets that a Source's authorization refers to. */
export function secretNames({ spec }: Source): string[] {
	const { customToken, signature } = spec.webhook.authorization;
	const refs = customToken
		? [customToken.secretRef]
		: (signature?.secretRefs ?? []);
	return [...new Set(refs.map(({ name }) => name))];
}

class Unresolved extends Error {
	readonly reason: Problem["reason"];

	constructor(reason: Problem["reason"], message: string) {
		super(message);
		this.reason = reason;
	}
}

function resolve(
	source: Source,
	means: AuthorizationMeans,
): Route["authorization"] {
	const { authorization, trackingPlanRef } = source.spec.webhook;
	if (trackingPlanRef)
		throw new Unresolved(
			"UnsupportedTrackingPlan",
			"This version of Tidemill does not apply tracking plans. Remove spec.webhook.trackingPlanRef to accept events unchecked.",
		);
	switch (authorization.type) {
		case "None":
			return { type: "None" };
		case "CustomToken": {
			const { secretRef } = authorization.customToken!;
			const token = tokenOf(readSecret(source, secretRef, means));
			if (token === undefined)
				throw new Unresolved(
					"TokenInvalid",
					`Key "${secretRef.key}" of Secret "${secretRef.name}" is empty or holds control characters. Put a token there that senders can present.`,
				);
			return { type: "CustomToken", digests: [digest(token)] };
		}
		case "Signature":
			return resolveSignature(source, authorization.signature!, means);
	}
}

type Signature = NonNullable<
	Source["spec"]["webhook"]["authorization"]["signature"]
>;

function resolveSignature(
	source: Source,
	{ scheme, secretRefs, toleranceSeconds, custom }: Signature,
	means: AuthorizationMeans,
): SignatureAuthorization {
	const { seal } = means;
	if (!seal)
		throw new Unresolved(
			"SealKeyMissing",
			"The operator has nothing to seal signing secrets with. Set TIDEMILL_SEAL_KEY of operator and receive to a file with the same random characters.",
		);
	const keys = secretRefs.map((ref) => {
		const secret = withoutLineEnd(readSecret(source, ref, means));
		const key = signingKey(scheme, secret);
		if (typeof key === "string")
			throw new Unresolved(
				"SigningSecretInvalid",
				`Key "${ref.key}" of Secret "${ref.name}" ${key}. Copy the signing secret again from the sender's settings.`,
			);
		return { algorithm: key.algorithm, sealed: seal(key.bytes) };
	});
	return {
		type: "Signature",
		scheme,
		keys,
		toleranceSeconds,
		...(custom && { custom }),
	};
}

/** The key in the text that a sender shows to people; else what is wrong with the text. */
function signingKey(
	scheme: Signature["scheme"],
	secret: string,
): { algorithm: "HMAC" | "Ed25519"; bytes: Buffer } | string {
	if (secret === "") return "is empty";
	if (scheme !== "StandardWebhooks")
		return { algorithm: "HMAC", bytes: Buffer.from(secret) };
	// The specification's prefixes, of a symmetric secret (which it makes optional) and of a public key.
	const [, prefix = "whsec_", base64 = ""] =
		/^(whsec_|whpk_)?([A-Za-z0-9+/]+=*)$/.exec(secret) ?? [];
	const bytes = Buffer.from(base64, "base64");
	if (bytes.length === 0)
		return 'is neither "whsec_" nor "whpk_" followed by Base64';
	if (prefix === "whsec_") return { algorithm: "HMAC", bytes };
	return bytes.length === 32
		? { algorithm: "Ed25519", bytes }
		: 'has not the 32 bytes of an Ed25519 key after "whpk_"';
}

/** What stands under a Secret's key. */
function readSecret(
	{ metadata: { namespace } }: Source,
	{ name, key }: { name: string; key: string },
	{ secretOf }: AuthorizationMeans,
): string {
	const secret = secretOf(name);
	if (!secret)
		throw new Unresolved(
			"SecretNotFound",
			`There is no Secret "${name}" in namespace "${namespace}". Create it with the label ${label.use}: "true".`,
		);
	if (secret.metadata.labels?.[label.use] !== "true")
		throw new Unresolved(
			"SecretNotLabelled",
			`Secret "${name}" is not read, since it lacks the label ${label.use}: "true". Run: kubectl label secret ${name} ${label.use}=true -n ${namespace}`,
		);
	const value = secret.data?.[key];
	if (value === undefined)
		throw new Unresolved(
			"SecretKeyNotFound",
			`Secret "${name}" has no key "${key}". Add it, or correct the secretRef's key in spec.webhook.authorization.`,
		);
	return Buffer.from(value, "base64").toString();
}

/** `echo secret | base64` leaves a line end, which is not part of it. */
function withoutLineEnd(text: string): string {
	return text.replace(/\r?\n$/, "");
}

/** Undefined when it can't be presented (RFC 9110 §5.5: no control characters in a field value). */
function tokenOf(text: string): string | undefined {
	const token = withoutLineEnd(text);
	return /^\P{Cc}+$/u.test(token) ? token : undefined;
}
