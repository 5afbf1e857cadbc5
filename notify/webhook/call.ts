import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { BlockList, isIP, isIPv4, type LookupFunction } from "node:net";
import { addNetwork, isPublicAddress } from "./public-address.ts";
import { resolveName } from "./resolve.ts";
import type { SignedRequest } from "./signed-request.ts";

/** How a call ended. Neither has a word of the receiver's answer: what it reads from an internal service must not show. */
export type CallOutcome =
	| { status: number; retryAfter?: string | undefined }
	| { error: string };

export interface CallOptions {
	/** Networks that may be called although they aren't public, and by http. */
	allowedNetworks: BlockList;
	timeoutMs: number;
}

/**
 * Sends one POST and reads nothing of the answer but its status. Follows no redirect. The host's name is resolved once, each of
 * its addresses is checked, and the connection goes to a checked one: a name that resolves otherwise a moment later changes
 * nothing. Never throws.
 */
export async function callWebhook(
	url: string,
	{ headers, body }: SignedRequest,
	{ allowedNetworks, timeoutMs }: CallOptions,
): Promise<CallOutcome> {
	if (!URL.canParse(url)) return { error: "The URL is invalid." };
	const { protocol, hostname } = new URL(url);
	const isPlain = protocol === "http:";
	const mayCall = (address: string) =>
		isIn(allowedNetworks, address) || (!isPlain && isPublicAddress(address));
	const host = hostname.replace(/^\[|\]$/g, "");
	// An address needs no lookup, so nothing else would check it.
	if (isIP(host) && !mayCall(host)) return { error: refusal(isPlain) };
	if (!isPlain && protocol !== "https:")
		return { error: "The URL must begin with https://." };
	const { promise, resolve } = Promise.withResolvers<CallOutcome>();
	const signal = AbortSignal.timeout(timeoutMs);
	const request = (isPlain ? requestHttp : requestHttps)(url, {
		method: "POST",
		headers,
		// A connection of its own each: no receiver's connection serves another account.
		agent: false,
		lookup: checkedLookup(mayCall, refusal(isPlain), signal),
		maxHeaderSize: 16_384,
		signal,
	});
	request.on("response", (response) => {
		resolve({
			status: response.statusCode ?? 0,
			retryAfter: response.headers["retry-after"],
		});
		response.destroy();
	});
	request.on("error", (error) =>
		resolve({ error: signal.aborted ? late(timeoutMs) : textOf(error) }),
	);
	// Without an answer or an error, such as after 101 (RFC 9110 §15.2.2), this is the only word of its end.
	request.on("close", () =>
		resolve({ error: "The connection ended without an answer." }),
	);
	request.end(body);
	return promise;
}

class AddressRefused extends Error {}

function checkedLookup(
	mayCall: (address: string) => boolean,
	message: string,
	signal: AbortSignal,
): LookupFunction {
	return (name, options, callback) =>
		void resolveName(name, { signal }).then(
			(all) => {
				if (!all.every(({ address }) => mayCall(address)))
					return callback(new AddressRefused(message), []);
				if (options.all) return callback(null, all);
				callback(null, all[0]!.address, all[0]!.family);
			},
			(error) => callback(error, []),
		);
}

function isIn(networks: BlockList, address: string): boolean {
	return networks.check(address, isIPv4(address) ? "ipv4" : "ipv6");
}

/** A list of networks, such as ["10.0.0.0/8"]. Throws if one isn't. */
export function networkList(networks: string[]): BlockList {
	const list = new BlockList();
	for (const network of networks) addNetwork(list, network);
	return list;
}

function refusal(isPlain: boolean): string {
	return isPlain
		? "The URL must begin with https://. With http://, only the networks that notify's setting NOTIFY_ALLOWED_NETWORKS names may be called."
		: "The URL's host has an address that is not public. Call a public address, or have the administrator add the network to notify's setting NOTIFY_ALLOWED_NETWORKS.";
}

function late(timeoutMs: number): string {
	return `There was no answer within ${timeoutMs / 1000} s.`;
}

/** Never the error's own text, which may hold the address. */
function textOf(error: NodeJS.ErrnoException): string {
	if (error instanceof AddressRefused) return error.message;
	return `The connection failed${error.code ? ` (${error.code})` : ""}.`;
}
