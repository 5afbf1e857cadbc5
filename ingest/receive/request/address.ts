/** A webhook URL taken apart: `/hooks/<source key>/<url key>[/][?token=…]`. */
export interface WebhookAddress {
	sourceKey: string;
	urlKey: string;
	/** The URL was called with a slash after its path. */
	slash?: "/";
	/** The token parameter, percent-decoded. */
	token: string | undefined;
	/** Everything after the question mark. */
	query: string | undefined;
}

const pattern =
	/^(?:[Hh][Tt]{2}[Pp][Ss]?:\/\/[^/?#]*)?\/hooks\/([0-9a-f]{32})\/([0-9a-f]{32})(\/?)(?:\?(.*))?$/;

/**
 * Reads a request target in the origin or the absolute form, as proxies send it (RFC 9112 §3.2.1, §3.2.2), with or without one
 * slash at the path's end; undefined if it is not a webhook URL.
 */
export function parseAddress(target: string): WebhookAddress | undefined {
	const match = pattern.exec(target);
	if (!match) return undefined;
	const [, sourceKey, urlKey, slash, query] = match;
	return {
		sourceKey: sourceKey!,
		urlKey: urlKey!,
		...(slash && { slash: "/" }),
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
