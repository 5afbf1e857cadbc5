/** An address of the console: `path` below the base, without slashes at its ends, and the query. */
export interface ConsoleAddress {
	path: string;
	query: URLSearchParams;
}

/** What every page gets: the parts of its address that its pattern names. */
export interface PageProps {
	params: Record<string, string>;
}

/** The address that a URL names, or undefined if it isn't one of the console's. */
export function addressOf(url: URL, base: URL): ConsoleAddress | undefined {
	if (url.origin !== base.origin) return;
	const isBase = `${url.pathname}/` === base.pathname;
	if (!isBase && !url.pathname.startsWith(base.pathname)) return;
	const path = url.pathname.slice(base.pathname.length).replace(/\/+$/, "");
	return { path, query: url.searchParams };
}

/**
 * The parts of the path that the pattern names, such as `name` of `sources/:name`; undefined if the path isn't of that pattern.
 * A part that is no valid percent-encoding matches nothing.
 */
export function matchPath(
	pattern: string,
	path: string,
): Record<string, string> | undefined {
	const wanted = pattern.split("/");
	const parts = path.split("/");
	if (wanted.length !== parts.length) return;
	const found: Record<string, string> = {};
	for (const [i, want] of wanted.entries()) {
		const part = decoded(parts[i]!);
		if (part === undefined) return;
		if (want.startsWith(":") && part !== "") found[want.slice(1)] = part;
		else if (want !== part) return;
	}
	return found;
}

/** The address as text relative to the base. Every address names its namespace, so that it can be shared. */
export function addressText(
	path: string,
	query: Record<string, string | undefined>,
): string {
	const given = Object.entries(query).filter(
		(pair): pair is [string, string] => !!pair[1],
	);
	const text = new URLSearchParams(given).toString();
	const encoded = path.split("/").map(encodeURIComponent).join("/");
	return text ? `${encoded}?${text}` : encoded;
}

function decoded(part: string): string | undefined {
	try {
		return decodeURIComponent(part);
	} catch {
		return undefined;
	}
}
