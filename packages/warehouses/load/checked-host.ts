import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { type BlockList, isIP, type LookupFunction } from "node:net";
import type { TLSSocket } from "node:tls";
import {
	type AddressKind,
	addressKind,
	isInNetworks,
	networkList,
} from "../../service/address.ts";
import type { BoundTo, ServiceNames } from "../definition/binding.ts";

/** The host that somebody wrote leads to an address that no warehouse may have. */
export class HostRefused extends Error {
	override name = "HostRefused";
	readonly code = "HOST_REFUSED";
}

export interface HostRules {
	/** Local mode, where a warehouse may run on the same machine. */
	allowsLoopback: boolean;
	/** To which no name leads that somebody elsewhere gives an address. */
	closedNetworks?: BlockList;
}

/** @param input A Job's. @param host Where it connects. */
export function hostRules(
	{
		isLocal,
		clusterNetworks = [],
		bound,
	}: {
		isLocal?: boolean;
		clusterNetworks?: readonly string[];
		bound?: BoundTo;
	},
	host: string,
): HostRules {
	const isOpen = bound !== undefined && isOfCluster(host, bound);
	return {
		allowsLoopback: isLocal === true,
		...(!isOpen && { closedNetworks: networkList(clusterNetworks) }),
	};
}

/**
 * Whether a host is where it is by its own word: an address, or a Service's name. `db.shop` isn't, since it may be a name of the
 * internet, too, nor a name with a final dot, unless that is whole.
 */
function isOfCluster(
	host: string,
	{ clusterDomain }: Pick<ServiceNames, "clusterDomain">,
): boolean {
	const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
	const domain = clusterDomain.toLowerCase().replace(/\.$/, "");
	return (
		isIP(name) !== 0 ||
		/^[^.]+(\.[^.]+\.svc)?$/.test(name) ||
		name.replace(/\.$/, "").endsWith(`.svc.${domain}`)
	);
}

/**
 * For `lookup` of node:net and node:tls: the name's addresses, each checked. A connection takes one of these and asks nobody
 * again, so a name server can't answer twice. Call {@link requireHost} for the host itself, since an address isn't looked up.
 */
export function checkedLookup(
	rules: HostRules,
	resolve: typeof lookup = lookup,
): LookupFunction {
	return (hostname, options, callback) => {
		resolve(
			hostname,
			{ ...options, all: true } as LookupOptions & { all: true },
			(error, found: LookupAddress[]) => {
				const refuse = (reason: Error) => callback(reason, "", 0);
				if (error) return refuse(error);
				const refused = found.find(
					({ address }) => problemOf(address, rules) !== undefined,
				);
				if (refused)
					return refuse(
						new HostRefused(
							`Host ${hostname} has ${problemOf(refused.address, rules)}`,
						),
					);
				const [first] = found;
				if (options.all) callback(null, found);
				else callback(null, first!.address, first!.family);
			},
		);
	};
}

/** Throws {@link HostRefused} for an address that no warehouse may have. A name passes: {@link checkedLookup} is for names. */
export function requireHost(host: string, rules: HostRules): void {
	const address = host.replace(/^\[(.*)\]$/, "$1");
	if (isIP(address) === 0) return;
	const problem = problemOf(address, rules);
	if (problem !== undefined)
		throw new HostRefused(`Host ${host} is ${problem}`);
}

function problemOf(
	address: string,
	{ allowsLoopback, closedNetworks }: HostRules,
): string | undefined {
	const kind = addressKind(address);
	if (refused[kind] && !(kind === "loopback" && allowsLoopback))
		return refused[kind];
	return closedNetworks && isInNetworks(closedNetworks, address)
		? "an address in the cluster, and is neither an address nor a Service's name, such as db.shop.svc"
		: undefined;
}

/** What is refused whoever names it. */
const refused: Partial<Record<AddressKind, string>> = {
	loopback: "a loopback address, which is the Job's own Pod",
	metadata: "a metadata address of a cloud",
	"link-local": "a link-local address",
	translated:
		"an address that stands for another one, as those of 6to4, Teredo and NAT64 do",
	nowhere: "an address of no single host",
};

/** A sentence if the server's certificate ends within 14 days; undefined otherwise. */
export function certificateWarning(
	socket: Pick<TLSSocket, "getPeerCertificate">,
	server: string,
	nowMs = Date.now(),
): string | undefined {
	const { valid_to: end } = socket.getPeerCertificate();
	const leftMs = Date.parse(end) - nowMs;
	return leftMs < 14 * 86_400_000
		? `The certificate of ${server} ends on ${new Date(Date.parse(end)).toISOString().slice(0, 10)}. Renew it.`
		: undefined;
}

/*
 * What a person does about a connection that doesn't come about follows from why, which a code alone doesn't tell
 * (nodejs.org/api/errors.html#common-system-errors, nodejs.org/api/tls.html#x509-certificate-error-codes).
 */

const ofSocket: Record<string, string> = {
	ENOTFOUND: "no server has this name",
	EAI_AGAIN: "its name can't be looked up now",
	ECONNREFUSED: "nothing listens at this port",
	ECONNRESET: "the connection was closed at once",
	EHOSTUNREACH: "no way leads there",
	ENETUNREACH: "no way leads there",
	ETIMEDOUT: "nothing answers, as behind a firewall or a NetworkPolicy",
};

const ofCertificate: Record<string, string> = {
	ERR_TLS_CERT_ALTNAME_INVALID: "it is for other names than this host",
	CERT_HAS_EXPIRED: "it has expired",
	CERT_NOT_YET_VALID: "it isn't valid yet",
	DEPTH_ZERO_SELF_SIGNED_CERT: "no trusted authority has signed it",
	SELF_SIGNED_CERT_IN_CHAIN: "no trusted authority has signed it",
	UNABLE_TO_GET_ISSUER_CERT: "no trusted authority has signed it",
	UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "no trusted authority has signed it",
	UNABLE_TO_VERIFY_LEAF_SIGNATURE: "no trusted authority has signed it",
};

/** Why a server isn't reached, with the code, which a search finds. @param otherwise for what has no code. */
export function socketFault(code: string, otherwise: string): string {
	const words = ofSocket[code];
	return words ? `${words} (${code})` : code || otherwise;
}

/** What is wrong with a server's certificate. */
export function certificateFault(code: string): string {
	const words = ofCertificate[code];
	return words ? `${words} (${code})` : code;
}
