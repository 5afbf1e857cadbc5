/**
 * What receive asks notify about a Source's public key (request/reply on {@link file://./nats.ts publicKeysSubject}): receive has no way
 * out. Both check the URL, since a sender may have written it.
 */
export interface KeyQuestion {
	/** Namespace of the Source. Its questions count against it alone. */
	account: string;
	url: string;
	/** What a sender named, and receive hasn't found before; absent if the Source's spec has the URL, and any key will do. */
	unknown?: "URL" | "KeyId";
}

/** `text`: what is at the URL. `reason`: for people of the account. */
export type KeyAnswer =
	| { ok: true; text: string }
	| { ok: false; reason?: string };

/** A URL or a key id that isn't known, such as one that a sender made up, costs an account at most one fetch in this time. */
export const unknownKeyRestMs = 10_000;

const keyURL = /^https:\/\/[A-Za-z0-9.-]+(:\d{1,5})?(\/[!-~]*)?$/;

/** Whether a key may be there: its text names a host of https and nothing else before the path, so that every reader finds the same host. */
export function isKeyURL(url: string): boolean {
	return url.length <= 500 && keyURL.test(url) && URL.canParse(url);
}
