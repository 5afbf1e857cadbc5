/**
 * What receive must know to accept events for one Source. Written by operator into the routes bucket under
 * {@link routeKey}; replaced whole on every change. Nothing in it is a usable secret.
 */
export interface Route {
	version: 1;
	/** Namespace of the Source. */
	account: string;
	/** metadata.name of the Source, for logs and metrics. */
	source: string;
	/** 128 random bits as 32 lower-case hex digits. For life: it names the data. */
	sourceKey: string;
	/** SHA-256 of the url key, hex: rotation changes the url key alone. */
	urlKeyDigest: string;
	/** The shard whose stream takes this Source's events; fixed when the source key is issued. */
	shard: number;
	suspended: boolean;
	authorization:
		| { type: "None" }
		/** SHA-256 digests (hex) of the tokens that are accepted. */
		| { type: "CustomToken"; digests: string[] }
		| SignatureAuthorization
		/** The Source asks for something that can't be served (its status says why): everything is refused with 401. */
		| { type: "Unavailable" };
	/** Largest body after decoding, in bytes. */
	maxBodyBytes: number;
	/** How senders' checks of the URL are answered; absent when none is. */
	verification?: {
		allowGet: boolean;
		handshakes: ("Slack" | "MicrosoftGraph" | "EventGrid")[];
	};
	/** A request that repeats an earlier one's key is not stored again; absent when each request is an event. */
	idempotency?: {
		/** A header's name in lower case, or a JSON Pointer (RFC 6901) into the body. */
		key: { header: string } | { bodyPointer: string };
		windowSeconds: number;
	};
	/** Lower-case header names whose values are stored with each event. */
	capturedHeaders: string[];
}

/** Each request must be signed with one of the keys. */
export interface SignatureAuthorization {
	type: "Signature";
	scheme: SignatureScheme;
	/**
	 * The key's bytes (Ed25519: the public key's 32), sealed for the source key by {@link file://../service/seal-key.ts}.
	 * Ed25519 is there in StandardWebhooks alone.
	 */
	keys: { algorithm: "HMAC" | "Ed25519"; sealed: string }[];
	/** How far a signed time may be from now, in schemes that sign one. */
	toleranceSeconds: number;
	/** What the scheme Custom is. */
	custom?: CustomSignature;
}

export type SignatureScheme =
	| "StandardWebhooks"
	| "GitHub"
	| "Stripe"
	| "Shopify"
	| "Slack"
	| "Custom";

/** Header names are in lower case. */
export interface CustomSignature {
	header: string;
	/** What stands before the signature in its header. */
	prefix?: string;
	algorithm: "SHA1" | "SHA256" | "SHA512";
	encoding: "Hex" | "Base64";
	/** What is signed, with `{body}` and `{timestamp}` in it. */
	signedString: string;
	/** Header with the time of signing, Unix seconds. */
	timestampHeader?: string;
}

export function routeKey(sourceKey: string): string {
	return `source.${sourceKey}`;
}

/**
 * Written by operator once the bucket agrees with all Sources; before that receive isn't ready and answers an unknown
 * URL with 503 instead of 404.
 */
export const syncedKey = "synced";
