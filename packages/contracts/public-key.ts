/**
 * What receive asks notify about a Source's public key (request/reply on {@link file://./nats.ts publicKeyAt}): receive has no way
 * out. Both check the URL, since a sender may have written it.
 */
export interface KeyQuestion {
	/** Namespace of the Source. Its questions count against it alone. */
	account: string;
	url: string;
	/** A sender named a URL or a key that may not exist. */
	isUnknown: boolean;
}

const keyURL = /^https:\/\/[A-Za-z0-9.-]+(:\d{1,5})?(\/[!-~]*)?$/;

/** Whether a key may be there: its text names a host of https and nothing else before the path, so that every reader finds the same host. */
export function isKeyURL(url: string): boolean {
	return url.length <= 500 && keyURL.test(url) && URL.canParse(url);
}
