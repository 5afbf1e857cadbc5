import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { BlockList, isIP, isIPv6, type LookupFunction } from "node:net";
import type { TLSSocket } from "node:tls";

/** The host that somebody wrote leads to an address that no warehouse may have. */
export class HostRefused extends Error {
	override name = "HostRefused";
	readonly code = "HOST_REFUSED";
}

export interface HostRules {
	/** Local mode, where a warehouse may run on the same machine. */
	allowsLoopback: boolean;
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

function problemOf(address: string, { allowsLoopback }: HostRules) {
	for (const [words, networks] of refused)
		if (isIn(networks, address)) {
			if (words === loopback && allowsLoopback) continue;
			return words;
		}
	return undefined;
}

const loopback = "a loopback address, which is the Job's own Pod";

const refused: [words: string, networks: BlockList][] = [
	[loopback, networksOf("127.0.0.0/8", "::1/128")],
	[
		"a metadata address of a cloud",
		networksOf(
			// AWS, Azure, Google and most others; then what each has besides.
			"169.254.169.254/32",
			// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
			"fd00:ec2::/32",
			// https://cloud.google.com/compute/docs/metadata/querying-metadata
			"fd20:ce::254/128",
			// https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
			"168.63.129.16/32",
			// https://www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata
			"100.100.100.200/32",
			// https://docs.oracle.com/en-us/iaas/Content/Compute/Tasks/gettingmetadata.htm
			"192.0.0.192/32",
		),
	],
	["a link-local address", networksOf("169.254.0.0/16", "fe80::/10")],
	[
		"an address of no single host",
		networksOf("0.0.0.0/8", "224.0.0.0/3", "::/128", "ff00::/8"),
	],
];

function networksOf(...networks: string[]): BlockList {
	const list = new BlockList();
	for (const network of networks) {
		const [address = "", bits] = network.split("/");
		list.addSubnet(address, Number(bits), isIPv6(address) ? "ipv6" : "ipv4");
	}
	return list;
}

/** An IPv6 address that stands for an IPv4 address counts as that one: RFC 4291 §2.5.5, RFC 6052 §2.1. */
function isIn(networks: BlockList, address: string): boolean {
	const [plain = ""] = address.split("%");
	if (!isIPv6(plain)) return networks.check(plain, "ipv4");
	if (networks.check(plain, "ipv6")) return true;
	const { hostname } = new URL(`http://[${plain}]`);
	const [, high, low] =
		/^\[(?:64:ff9b::|::ffff:|::)([0-9a-f]+):([0-9a-f]+)\]$/.exec(hostname) ??
		[];
	if (high === undefined) return false;
	const [one, two] = [
		Number.parseInt(high, 16),
		Number.parseInt(low ?? "0", 16),
	];
	return networks.check(
		[one >> 8, one & 255, two >> 8, two & 255].join("."),
		"ipv4",
	);
}

const maxWords = 1_024;

/**
 * A server's own words for people: without control characters, which a log or a terminal would obey, and at most 1 KiB. Only
 * what stands in the protocol's own form of an error may get here: the address may be another server's.
 */
export function quotedWords(text: string): string {
	const plain = text.replace(/[\p{Cc}\s]+/gu, " ");
	const bytes = Buffer.from(plain);
	if (bytes.length <= maxWords) return plain;
	return `${bytes
		.subarray(0, maxWords - 4)
		.toString()
		.replace(/\uFFFD+$/, "")}…`;
}

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
