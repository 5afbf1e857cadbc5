import dns from "node:dns";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { addressKind } from "../../packages/service/address.ts";
import { CommandError } from "../command/errors.ts";

/** Throws {@link CommandError} unless each address of the URL's host is this machine's. */
export async function requireLoopback({ hostname }: URL): Promise<void> {
	const host = hostOf(hostname);
	if (isIP(host)) return requireOurs(host, [host]);
	await new Promise<void>((resolve, reject) =>
		loopbackLookup(host, { all: true }, (error) =>
			error ? reject(error) : resolve(),
		),
	);
}

/**
 * Sends one POST to this machine, and returns the answer's status. The connection goes to an address that was judged: a name that
 * resolves otherwise a moment later leads nowhere else. Follows no redirect, and uses no proxy.
 */
export async function postToLoopback(
	target: URL,
	{ headers, body }: { headers: Headers; body: string },
	signal: AbortSignal,
): Promise<number> {
	const host = hostOf(target.hostname);
	// An address needs no lookup, so nothing else would judge it.
	if (isIP(host)) requireOurs(host, [host]);
	const request = target.protocol === "https:" ? requestHttps : requestHttp;
	return new Promise((resolve, reject) => {
		const sent = request(target, {
			method: "POST",
			headers: Object.fromEntries(headers),
			agent: false,
			lookup: loopbackLookup,
			signal,
		});
		sent.on("response", (answer) => {
			resolve(answer.statusCode ?? 0);
			answer.destroy();
		});
		sent.on("error", reject);
		sent.on("close", () => reject(new Error("there was no answer")));
		sent.end(body);
	});
}

const hostOf = (hostname: string) => hostname.replace(/^\[|\]$/g, "");

const loopbackLookup: LookupFunction = (name, options, callback) =>
	dns.lookup(name, { ...options, all: true }, (error, all) => {
		if (error) return callback(error, []);
		try {
			requireOurs(
				name,
				all.map(({ address }) => address),
			);
		} catch (other) {
			return callback(other as Error, []);
		}
		if (options.all) return callback(null, all);
		callback(null, all[0]!.address, all[0]!.family);
	});

/** What a NAT64 translates is of the kind of its IPv4 address, but on the way it leaves this machine. */
function isOurs(address: string): boolean {
	return addressKind(address) === "loopback" && !/^64:ff9b:/i.test(address);
}

function requireOurs(name: string, addresses: readonly string[]): void {
	const other = addresses.find((each) => !isOurs(each));
	if (other === undefined) return;
	throw new CommandError(
		`events are signed for a handler on this machine alone, but ${name}${other === name ? "" : ` is at ${other}, which`} is not of it. Use an address such as http://localhost:3000, or leave the secret out`,
	);
}
