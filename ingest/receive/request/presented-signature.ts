import type { SigningAlgorithm } from "../../../packages/contracts/route.ts";
import type { LongWork } from "../admission/long-work.ts";
import type { SignedBody } from "./signed-string.ts";

/** The signature in a request's headers, not checked yet. */
export interface PresentedSignature extends SignedSet {
	/** The HMAC's hash function. */
	hash: "sha1" | "sha256" | "sha512";
	/** How the texts are encoded. */
	encoding: "hex" | "base64";
	/** Signatures of another time: senders may repeat the time, too, while they rotate a key. */
	other?: SignedSet | undefined;
	/** Instead of `signed`, in schemes that sign what follows from the body: one of these texts is signed. */
	signedTexts?(body: readonly Uint8Array[]): LongWork<readonly Buffer[]>;
	/** Where the public keys are, if the route doesn't have them. */
	keyAt?: NamedKey;
}

/** Signatures of one text. */
export interface SignedSet {
	/** One of these must match: senders sign with several keys while they rotate one. */
	texts: SignatureText[];
	/** The signed bytes, with the raw body between each part and the next. */
	signed: readonly Buffer[];
	/** When the sender signed, in Unix seconds; undefined in schemes that sign no time. */
	signedAt?: number;
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

/** A signature of one or two sets; undefined without any. */
export function bothSets(
	[first, other]: readonly SignedSet[],
	how: Pick<PresentedSignature, "hash" | "encoding" | "keyAt">,
): PresentedSignature | undefined {
	return first && { ...first, ...how, ...(other && { other }) };
}
