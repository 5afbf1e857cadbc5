import { BlockList, isIPv4, isIPv6 } from "node:net";

/** What an IP address leads to, for whoever connects where people say. */
export type AddressKind =
	/** The internet. */
	| "public"
	/** A network of somebody's own, a cluster's among them, or one for examples. */
	| "private"
	/** The process' own machine, or Pod. */
	| "loopback"
	/** The service by which a cloud gives its machines credentials. */
	| "metadata"
	| "link-local"
	/** Another one, to which a tunnel or a translator on the way takes it. */
	| "translated"
	/** No single host: multicast, reserved, or not given out. */
	| "nowhere";

/**
 * The only list of addresses that aren't of the internet: notify calls none of them, and a warehouse's Job few. An IPv6 address that
 * stands for an IPv4 address on every machine is of that one's kind. A text that is no address leads nowhere.
 */
export function addressKind(address: string): AddressKind {
	const plain = plainAddress(address);
	if (plain === undefined) return "nowhere";
	const type = isIPv4(plain) ? "ipv4" : "ipv6";
	if (type === "ipv6" && isatap.test(textOf(plain))) return "translated";
	for (const [kind, networks] of kinds)
		if (networks.check(plain, type)) return kind;
	return type === "ipv4" || global.check(plain, "ipv6") ? "public" : "nowhere";
}

export function isPublicAddress(address: string): boolean {
	return addressKind(address) === "public";
}

/** A list of networks, such as ["10.0.0.0/8"]. Throws if one isn't. */
export function networkList(networks: readonly string[]): BlockList {
	const list = new BlockList();
	for (const network of networks) {
		const [address = "", bits = ""] = network.split("/");
		if (!/^\d+$/.test(bits)) throw new RangeError(`${network} is no network`);
		list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
	}
	return list;
}

/** An IPv6 address that stands for an IPv4 address is in its networks. */
export function isInNetworks(networks: BlockList, address: string): boolean {
	const plain = plainAddress(address);
	return (
		plain !== undefined &&
		networks.check(plain, isIPv4(plain) ? "ipv4" : "ipv6")
	);
}

/**
 * The first that has the address counts: the IANA IPv4 and IPv6 Special-Purpose Address Registries' networks that aren't globally
 * reachable, and what clouds have besides.
 */
const kinds = (
	[
		["loopback", "127.0.0.0/8", "::1/128"],
		[
			"metadata",
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
		],
		["link-local", "169.254.0.0/16", "fe80::/10"],
		["nowhere", "0.0.0.0/8", "224.0.0.0/3", "::/128", "ff00::/8"],
		[
			"translated",
			// The anycast address of 6to4's relays, and 6to4 (RFC 7526, RFC 3056).
			"192.88.99.0/24",
			"2002::/16",
			// IPv4-compatible and IPv4-translated (RFC 4291 §2.5.5.1, RFC 2765 §2.1).
			"::/96",
			"::ffff:0:0:0/96",
			// A NAT64 of somebody's own (RFC 8215), which may lead anywhere inside.
			"64:ff9b:1::/48",
			// Teredo.
			"2001::/32",
		],
		[
			"private",
			"10.0.0.0/8",
			"100.64.0.0/10",
			"172.16.0.0/12",
			"192.0.0.0/24",
			"192.0.2.0/24",
			"192.168.0.0/16",
			"198.18.0.0/15",
			"198.51.100.0/24",
			"203.0.113.0/24",
			"fc00::/7",
			"fec0::/10",
			// Protocol assignments.
			"2001::/23",
			"2001:db8::/32",
			"3fff::/20",
		],
	] as const
).map(([kind, ...networks]) => [kind, networkList(networks)] as const);

/** All that IANA has given out as global unicast addresses. */
const global = networkList(["2000::/3"]);

/** The interface identifiers of ISATAP, whose last 32 bits are an IPv4 address (RFC 5214 §6.1). */
const isatap = /:(0|200)?:5efe:[0-9a-f]+:[0-9a-f]+$/;

/** IPv4-mapped (RFC 4291 §2.5.5.2), and what every NAT64 translates (RFC 6052 §2.1). */
const embedding = networkList(["::ffff:0:0/96", "64:ff9b::/96"]);

/** Without a zone, which is none of the address, and as IPv4 if it stands for that; undefined if it is no address. */
function plainAddress(address: string): string | undefined {
	const [plain = ""] = address.split("%");
	if (isIPv4(plain)) return plain;
	if (!isIPv6(plain)) return undefined;
	if (!embedding.check(plain, "ipv6")) return plain;
	const [high = 0, low = 0] = textOf(plain)
		.split(":")
		.slice(-2)
		.map((group) => Number.parseInt(group || "0", 16));
	return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** The URL parser writes every form of an address as groups of hex digits. */
function textOf(address: string): string {
	return new URL(`http://[${address}]`).hostname.slice(1, -1);
}
