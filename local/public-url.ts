import { readFileSync, rmSync } from "node:fs";
import { LocalError } from "./machine/errors.ts";
import { type LocalHome, writeWhole } from "./machine/home.ts";

/**
 * The base of webhook URLs that a person passes: where a tunnel on the internet leads to receive. Undefined without one. Throws a
 * LocalError for what providers couldn't call, or what Tidemill couldn't add a path to.
 * @param name what a person sets it by.
 */
export function publicURLOf(
	text: string | undefined,
	name: "TIDEMILL_PUBLIC_URL" | "URL",
): string | undefined {
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
	if (!url || mistake !== undefined) {
		const shown = url?.username || url?.password ? `…@${url.host}` : text;
		throw new LocalError(
			`The public URL "${shown}" ${mistake}. Pass the address that your tunnel prints, such as ${name}=https://abc.ngrok-free.app; http:// is for this machine's own addresses.`,
		);
	}
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

/** What a start says if webhook URLs began with another public URL before; empty otherwise. */
export function changeNotice(
	former: string | undefined,
	now: string | undefined,
): string {
	return former === undefined || former === now
		? ""
		: `Webhook URLs began with ${former} before. Providers still have those: give each the new one, which "kubectl get sources --all-namespaces --output=wide" shows.`;
}

export function writePublicURL(home: LocalHome, url: string | undefined): void {
	if (url === undefined) rmSync(home.publicURL, { force: true });
	else writeWhole(home.publicURL, `${url}\n`);
}
