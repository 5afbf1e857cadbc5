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
