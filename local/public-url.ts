import { readFileSync, rmSync } from "node:fs";
import { LocalError } from "./machine/errors.ts";
import { type LocalHome, writeWhole } from "./machine/home.ts";

/**
 * The base of webhook URLs that a person passes: where a tunnel on the internet leads to receive. Undefined without one. Throws a
 * LocalError for what providers couldn't call, or what Tidemill couldn't add a path to.
 */
export function publicURLOf(text: string | undefined): string | undefined {
	if (!text?.trim()) return undefined;
	const url = URL.parse(text.trim());
	const mistake = !url
		? "is not a URL"
		: url.username || url.password
			? "has a user or a password"
			: url.search || url.hash
				? "has a query or a fragment"
				: url.protocol === "https:" || isLoopback(url)
					? undefined
					: "must begin with https://: providers send events there over the internet";
	if (!url || mistake !== undefined)
		throw new LocalError(
			`The public URL "${text}" ${mistake}. Pass the address that your tunnel prints, such as TIDEMILL_PUBLIC_URL=https://abc.ngrok-free.app; http:// is for this machine's own addresses.`,
		);
	return url.href.replace(/\/+$/, "");
}

function isLoopback({ protocol, hostname }: URL): boolean {
	return (
		protocol === "http:" &&
		/^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
	);
}

/** Undefined if there is none. */
export function readPublicURL(home: LocalHome): string | undefined {
	try {
		return readFileSync(home.publicURL, "utf8").trim() || undefined;
	} catch {
		return undefined;
	}
}

export function writePublicURL(home: LocalHome, url: string | undefined): void {
	if (url === undefined) rmSync(home.publicURL, { force: true });
	else writeWhole(home.publicURL, `${url}\n`);
}
