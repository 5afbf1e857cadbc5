import type { RoutePlan } from "./tracking-plan.ts";
import type { SenderAnswer, URLChallenge } from "./url-challenge.ts";

/**
 * What receive needs to accept events for one Source. Operator writes it to the routes bucket under {@link routeKey} and
 * replaces it whole on every change. It holds no usable secret.
 */
export interface Route {
	version: 1;
	/** Namespace of the Source. */
	account: string;
	/** metadata.name of the Source, for logs and metrics. */
	source: string;
	/** 128 random bits as 32 lower-case hex digits. It never changes, because it names the data. */
	sourceKey: string;
	/** SHA-256 of the url key, hex. A rotation changes only the url key. */
	urlKeyDigest: string;
	/** The shard whose stream holds this Source's events; fixed when the source key is issued. */
	shard: number;
	suspended: boolean;
	authorization:
		| { type: "None" }
		/** Digests of the accepted tokens, for the source key by {@link file://../service/seal-key.ts}. */
		| {
				type: "CustomToken";
				digests: string[];
				/** Id of the seal key; absent in routes of an operator that had one key. */
				sealKeyId?: string;
		  }
		| SignatureAuthorization
		/** Messages of Amazon SNS for these topics. */
		| { type: "AmazonSNS"; topicARNs: string[] }
		| JWTAuthorization
		| UnavailableAuthorization;
	/** Largest body after decoding, in bytes. */
	maxBodyBytes: number;
	/** How to answer senders that check the URL; absent when they get no answer. */
	verification?: {
		allowGet: boolean;
		handshakes: ("Slack" | "MicrosoftGraph" | "EventGrid" | "Meta" | "SNS")[];
		/** Absent for none. */
		challenges?: URLChallenge[];
	};
	/** The answer to a stored event; absent for Tidemill's own. */
	response?: SenderAnswer;
	/** What a request without a body is; absent for a mistake of its sender. */
	emptyBody?: "Null";
	/** Whose pages may read the answers: exact origins, or `*` alone; absent for none. */
	cors?: { allowedOrigins: string[] };
	/** A request that repeats an earlier key is not stored again; absent when every request is an event. */
	idempotency?: {
		/**
		 * A header's name in lower case, a query parameter's, a JSON Pointer (RFC 6901) into the body, or the text that the signature covers.
		 * `within` is the header that names what the key is unique in. An earlier version kept keys without it.
		 */
		key:
			| { header: string; within?: string }
			| { parameter: string }
			| { bodyPointer: string }
			| { signature: true };
		windowSeconds: number;
	};
	/** Lower-case names of headers that are stored with each event. */
	capturedHeaders: string[];
	/** Names of query parameters that are stored with each event; absent for none. */
	capturedParameters?: string[];
	/** The plan that validates the events; absent when none does. */
	plan?: RoutePlan;
}

/** The Source's authorization can't be checked, so no request is accepted. */
export interface UnavailableAuthorization {
	type: "Unavailable";
	/** What requests would be checked for. Those that carry it get a 503, so that their sender repeats them; all others a 401. */
	awaits?: { type: "CustomToken" } | SignatureAuthorization;
	/** Why it can't be checked and what to do, for people of the account. */
	cause?: string;
}

/** Each request must carry a JSON Web Token (RFC 7519), signed by one of the keys at a URL. */
export interface JWTAuthorization {
	type: "JWT";
	/** Of a JWK Set (RFC 7517 §5). */
	jwksURL: string;
	issuer: string;
	audience: string;
	/** The header that holds the token, in lower case. */
	header: string;
	/** What other claims must say: a text as it is, a number or a boolean as in JSON. */
	requiredClaims?: { name: string; value: string }[];
	/** How far the sender's clock may be off. */
	clockSkewSeconds: number;
}

/** Each request must be signed with one of the keys. */
export interface SignatureAuthorization {
	type: "Signature";
	scheme: SignatureScheme;
	/**
	 * The key's bytes (Ed25519: the public key's 32; ECDSA-P256 and RSA-SHA256: SubjectPublicKeyInfo, RFC 5280 §4.1.2.7), sealed
	 * for the source key by {@link file://../service/seal-key.ts}. Empty when the public key stands at a URL.
	 */
	keys: {
		algorithm: SigningAlgorithm;
		sealed: string;
		/** Id of the seal key; absent in routes of an operator that had one key. */
		sealKeyId?: string;
		/** The Secret and its key that it came from, for people; absent in routes of an earlier operator. */
		from?: { secret: string; key: string };
	}[];
	/** How far a signed time may be from now, in schemes that sign a time. */
	toleranceSeconds: number;
	/** What every webhook URL begins with, as senders call it. Required for the scheme Twilio. */
	baseURL?: string;
	/** Required for the scheme Custom. */
	custom?: CustomSignature;
}

export type SignatureScheme =
	| "StandardWebhooks"
	| "Svix"
	| "GitHub"
	| "Meta"
	| "Stripe"
	| "Shopify"
	| "Slack"
	| "Twilio"
	| "Custom";

export type PublicKeyAlgorithm = "ECDSA-P256" | "Ed25519" | "RSA-SHA256";

export type SigningAlgorithm = "HMAC" | PublicKeyAlgorithm;

/** Header names are in lower case. */
export interface CustomSignature {
	/** Where the signature is: a header, or a place in the body. */
	header?: string;
	bodyPointer?: string;
	/** The signature is the part of its header with this name, as in `t=1,v1=abc`. */
	headerPart?: string;
	/** Text before the signature in its place. */
	prefix?: string;
	/** An HMAC's hash function, or what signs with a private key. */
	algorithm: "SHA1" | "SHA256" | "SHA512" | PublicKeyAlgorithm;
	encoding: "Hex" | "Base64";
	/** The signed text, with placeholders: {@link file://../../ingest/receive/request/signed-string.ts}. */
	signedString: string;
	/** Where the time of signing is, if it is signed: a header, its part, or a place in the body. */
	timestampHeader?: string;
	timestampHeaderPart?: string;
	timestampBodyPointer?: string;
	/** UnixSeconds if absent. */
	timestampFormat?: "UnixSeconds" | "UnixMillis" | "RFC3339";
	/** Where the public keys are, unless they are in `keys`. */
	publicKey?: PublicKeyPlace;
}

/** Either a URL, or a header that holds one on one of the hosts. */
export interface PublicKeyPlace {
	url?: string;
	urlHeader?: string;
	/** As `host` of a URL. */
	keyHosts?: string[];
	/** The header that names one of several keys. */
	keyIdHeader?: string;
}

export function routeKey(sourceKey: string): string {
	return `source.${sourceKey}`;
}

/**
 * Operator writes this key once the bucket agrees with all Sources. Until then receive is not ready and answers an unknown
 * URL with 503, not 404. Its value is a {@link SyncedMark}.
 */
export const syncedKey = "synced";

/** Of which cluster the bucket's routes are. */
export interface SyncedMark {
	/** The uid of the cluster's namespace kube-system. The marks of early builds lack it. */
	cluster?: string;
	/** The operator sees another cluster, where resources may be missing: receive answers an unknown URL with 503, but is ready. */
	isRestoring?: true;
}

/** Those of early builds are a time. */
export function readMark(text: string): SyncedMark {
	return text.startsWith("{") ? JSON.parse(text) : {};
}

/**
 * An event's captured fields are one JSON object, on the way as in the bucket: a header stands there under its name, a query
 * parameter under its name after a question mark, which no header's name has (RFC 9110 §5.1).
 */
export function parameterField(parameter: string): string {
	return `?${parameter}`;
}

/** The query parameter that a captured field holds; undefined for a header. */
export function parameterOf(field: string): string | undefined {
	return field.startsWith("?") ? field.slice(1) : undefined;
}

/**
 * The shards that may hold a Source's events, in the bucket of source keys under {@link shardsKey}: absent while there is only
 * the one of its route. The set only grows, and it grows before receive writes to the new shard, so whoever asks for the
 * Source's events asks all of them: docs/decisions/0026-a-source-keeps-its-former-shards.md.
 */
export interface SourceShards {
	version: 1;
	/** In the order in which the Source came to them. */
	shards: number[];
}

/** Beside the source key's own entry, which says whose it is and is written once. No source key has a dot. */
export function shardsKey(sourceKey: string): string {
	return `shards.${sourceKey}`;
}

/** In a request of the operator to archive, which may not know yet where a Source has been: NATS is new, or was restored. */
export interface OfShards {
	/** All that may hold the Source's events, if there are several. */
	shards?: readonly number[] | undefined;
}

/** The first set with what the others add. */
export function unitedShards(...sets: readonly (readonly number[])[]) {
	return [...new Set(sets.flat())];
}
