import type { SigningAlgorithm } from "../../../packages/contracts/route.ts";
import type { LongWork } from "../admission/long-work.ts";
import type { SignedBody } from "./signed-string.ts";

/** The signature in a request's headers, not checked yet. */
export interface PresentedSignature {
	/** One of these must match: senders sign with several keys while they rotate one. */
	texts: SignatureText[];
	/** The HMAC's hash function. */
	hash: "sha1" | "sha256" | "sha512";
	/** How the texts are encoded. */
	encoding: "hex" | "base64";
	/** The signed bytes, with the raw body between each part and the next. */
	signed: readonly Buffer[];
	/** Instead of `signed`, in schemes that sign what follows from the body: one of these texts is signed. */
	signedTexts?(body: readonly Uint8Array[]): LongWork<readonly Buffer[]>;
	/** When the sender signed, in Unix seconds; undefined in schemes that sign no time. */
	signedAt?: number;
	/** Where the public keys are, if the route doesn't have them. */
	keyAt?: NamedKey;
}

/** A public key at a URL. */
export interface NamedKey {
	url: string;
	/** The sender named the URL, so it may lead to no key. */
	isSenders: boolean;
	/** Which of the keys there; any, if it is undefined. */
	id: string | undefined;
}

/** A signature that only the whole body completes: it, its time or a digest of the body. */
export interface SignatureInBody {
	read(body: SignedBody): LongWork<PresentedSignature | undefined>;
}

export interface SignatureText {
	algorithm: SigningAlgorithm;
	text: string;
}
