/** A webhook URL taken apart: `/hooks/<source key>/<url key>[?token=…]`. */
export interface WebhookAddress {
	sourceKey: string;
	urlKey: string;
	/** The token parameter, percent-decoded. */
	token: string | undefined;
	/** Everything after the question mark. */
	query: string | undefined;
}

const pattern = /^\/hooks\/([0-9a-f]{32})\/([0-9a-f]{32})(?:\?(.*))?$/;

/** Reads a request target (RFC 9112 §3.2.1, origin form); undefined if it is not a webhook URL. */
export function parseAddress(target: string): WebhookAddress | undefined {
	const match = pattern.exec(target);
	if (!match) return undefined;
	const [, sourceKey, urlKey, query] = match;
	return {
		sourceKey: sourceKey!,
		urlKey: urlKey!,
		token: tokenIn(query),
		query,
	};
}

/** A plus stays a plus: people paste Base64 tokens into URLs unescaped. */
function tokenIn(query: string | undefined): string | undefined {
	const pair = query?.split("&").find((pair) => pair.startsWith("token="));
	if (pair === undefined) return undefined;
	try {
		return decodeURIComponent(pair.slice("token=".length));
	} catch {
		return undefined;
	}
}
