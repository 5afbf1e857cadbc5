/**
 * What receive asks notify about Amazon SNS (request/reply on {@link file://./nats.ts sns}): receive has no way out. Both check the
 * URL, since a sender wrote it.
 */
export interface SnsQuestion {
	/** Namespace of the Source. Its questions count against it alone. */
	account: string;
	url: string;
}

/**
 * Hosts of SNS, by docs.aws.amazon.com/general/latest/gr/sns.html. A region has no digit in its first word: that keeps out
 * `sns.s3-us-west-2.amazonaws.com`, which is anybody's bucket.
 */
const host = String.raw`https://sns\.[a-z]{2,8}(?:-[a-z]{2,12}){1,3}-\d{1,2}\.amazonaws\.com(?:\.cn)?`;

const certificate = new RegExp(
	String.raw`^${host}/SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem$`,
);
const query = new RegExp(String.raw`^${host}/\?([\w=&%:.~+-]{1,2000})$`);

/** Whether SNS publishes a certificate there. */
export function isCertificateURL(url: string): boolean {
	return certificate.test(url);
}

/** Whether a GET of this URL confirms a subscription, and does nothing else. */
export function isConfirmationURL(url: string): boolean {
	const [, text] = query.exec(url) ?? [];
	if (text === undefined) return false;
	const parameters = new URLSearchParams(text);
	const names = [...parameters.keys()].toSorted().join();
	return (
		names === "Action,Token,TopicArn" &&
		parameters.get("Action") === "ConfirmSubscription"
	);
}

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
