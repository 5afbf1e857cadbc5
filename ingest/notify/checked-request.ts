import { type ClientRequest, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { type BlockList, isIP, type LookupFunction } from "node:net";
import {
	isInNetworks,
	isPublicAddress,
} from "../../packages/service/address.ts";
import { resolveName } from "./resolve.ts";
import type { SignedRequest } from "./signed-request.ts";

export interface CallOptions {
	/** Networks that may be called although they aren't public, and by http. */
	allowedNetworks: BlockList;
	timeoutMs: number;
}

interface OpenedRequest {
	/** Ready to be ended. */
	request: ClientRequest;
	/** What to say of an error of it. Never the error's own text, which may hold the address. */
	errorOf(error: NodeJS.ErrnoException): string;
}

/**
 * Opens a request to an address that may be called. The host's name is resolved once, each of its addresses is checked, and the
 * connection goes to a checked one: a name that resolves otherwise a moment later changes nothing.
 */
function openRequest(
	url: string,
	{ method, headers }: { method: string; headers: Record<string, string> },
	{ allowedNetworks, timeoutMs }: CallOptions,
): OpenedRequest | { error: string } {
	if (!URL.canParse(url)) return { error: "The URL is invalid." };
	const { protocol, hostname } = new URL(url);
	const isPlain = protocol === "http:";
	const isAllowed = (address: string) =>
		mayCall(address, allowedNetworks, isPlain);
	const host = hostname.replace(/^\[|\]$/g, "");
	// An address needs no lookup, so nothing else would check it.
	if (isIP(host) && !isAllowed(host)) return { error: refusal(isPlain) };
	if (!isPlain && protocol !== "https:")
		return { error: "The URL must begin with https://." };

	const signal = AbortSignal.timeout(timeoutMs);
	const request = (isPlain ? requestHttp : requestHttps)(url, {
		method,
		headers,
		// A connection of its own each: no receiver's connection serves another account.
		agent: false,
		lookup: checkedLookup(isAllowed, refusal(isPlain), signal),
		maxHeaderSize: 16_384,
		signal,
	});
	return {
		request,
		errorOf: (error) => (signal.aborted ? late(timeoutMs) : textOf(error)),
	};
}

/** @param isPlain by http, for which no network is open but the allowed ones. */
export function mayCall(
	address: string,
	allowedNetworks: BlockList,
	isPlain: boolean,
): boolean {
	return (
		isInNetworks(allowedNetworks, address) ||
		(!isPlain && isPublicAddress(address))
	);
}

class AddressRefused extends Error {}

function checkedLookup(
	isAllowed: (address: string) => boolean,
	message: string,
	signal: AbortSignal,
): LookupFunction {
	return (name, options, callback) =>
		void resolveName(name, { signal }).then(
			(all) => {
				if (!all.every(({ address }) => isAllowed(address)))
					return callback(new AddressRefused(message), []);
				if (options.all) return callback(null, all);
				callback(null, all[0]!.address, all[0]!.family);
			},
			(error) => callback(error, []),
		);
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

/** How a call ended. Neither has a word of the receiver's answer: what it reads from an internal service must not show. */
export type CallOutcome =
	| { status: number; retryAfter?: string | undefined }
	| { error: string };

/** Sends one POST and reads nothing of the answer but its status. Follows no redirect. Never throws. */
export async function callWebhook(
	url: string,
	{ headers, body }: SignedRequest,
	options: CallOptions,
): Promise<CallOutcome> {
	const opened = openRequest(url, { method: "POST", headers }, options);
	if ("error" in opened) return opened;
	const { request, errorOf } = opened;
	const { promise, resolve } = Promise.withResolvers<CallOutcome>();
	request.on("response", (response) => {
		resolve({
			status: response.statusCode ?? 0,
			retryAfter: response.headers["retry-after"],
		});
		response.destroy();
	});
	request.on("error", (error) => resolve({ error: errorOf(error) }));
	// Without an answer or an error, such as after 101 (RFC 9110 §15.2.2), this is the only word of its end.
	request.on("close", () =>
		resolve({ error: "The connection ended without an answer." }),
	);
	request.end(body);
	return promise;
}

/** What came back, if it came whole with the status 200. */
export type GetOutcome = { text: string } | { error: string };

/** Sends one GET and reads a short answer. Follows no redirect. Never throws. */
export async function getText(
	url: string,
	maxBytes: number,
	options: CallOptions,
): Promise<GetOutcome> {
	const opened = openRequest(
		url,
		{ method: "GET", headers: { "user-agent": "tidemill-notify" } },
		options,
	);
	if ("error" in opened) return opened;
	const { request, errorOf } = opened;
	const { promise, resolve } = Promise.withResolvers<GetOutcome>();
	request.on("response", (response) => {
		const parts: Buffer[] = [];
		let bytes = 0;
		const end = (outcome: GetOutcome) => {
			resolve(outcome);
			response.destroy();
		};
		if (response.statusCode !== 200)
			end({ error: `The answer has status ${response.statusCode}.` });
		response.on("data", (part: Buffer) => {
			parts.push(part);
			bytes += part.length;
			if (bytes > maxBytes)
				end({ error: `The answer is longer than ${maxBytes} bytes.` });
		});
		response.on("end", () => end({ text: Buffer.concat(parts).toString() }));
		response.on("error", (error) => end({ error: errorOf(error) }));
	});
	request.on("error", (error) => resolve({ error: errorOf(error) }));
	request.on("close", () =>
		resolve({ error: "The connection ended without a whole answer." }),
	);
	request.end();
	return promise;
}
