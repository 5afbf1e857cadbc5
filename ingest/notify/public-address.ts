import { BlockList, isIPv4, isIPv6 } from "node:net";

/**
 * Whether an IP address belongs to the internet: not to this machine, the cluster, a private network or a cloud's metadata
 * service. An IPv6 address that stands for an IPv4 address is validated as that one.
 */
export function isPublicAddress(address: string): boolean {
	if (isIPv4(address)) return !special.check(address, "ipv4");
	if (!isIPv6(address)) return false;
	const inner = embeddedIPv4(address);
	if (inner !== undefined) return !special.check(inner, "ipv4");
	return global.check(address, "ipv6") && !special.check(address, "ipv6");
}

/** The networks of the IANA IPv4 and IPv6 Special-Purpose Address Registries that aren't globally reachable. */
const special = new BlockList();
for (const network of [
	"0.0.0.0/8",
	"10.0.0.0/8",
	"100.64.0.0/10",
	"127.0.0.0/8",
	"169.254.0.0/16",
	"172.16.0.0/12",
	"192.0.0.0/24",
	"192.0.2.0/24",
	"192.88.99.0/24",
	"192.168.0.0/16",
	"198.18.0.0/15",
	"198.51.100.0/24",
	"203.0.113.0/24",
	// Multicast, and what is reserved.
	"224.0.0.0/3",
	// Azure's metadata: https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
	"168.63.129.16/32",
	// Protocol assignments, Teredo among them.
	"2001::/23",
	"2001:db8::/32",
	"2002::/16",
	"3fff::/20",
])
	addNetwork(special, network);

/** All that IANA has given out as global unicast addresses. */
const global = new BlockList();
addNetwork(global, "2000::/3");

/** IPv4-mapped (RFC 4291 §2.5.5.2), and what a NAT64 translates (RFC 6052 §2.1). */
const embedding = new BlockList();
addNetwork(embedding, "::ffff:0:0/96");
addNetwork(embedding, "64:ff9b::/96");

function embeddedIPv4(address: string): string | undefined {
	if (!embedding.check(address, "ipv6")) return undefined;
	// The URL parser writes every form of an address as groups of hex digits. A zone is none of the address.
	const { hostname } = new URL(`http://[${address.split("%")[0]}]`);
	const [high = 0, low = 0] = hostname
		.slice(1, -1)
		.split(":")
		.slice(-2)
		.map((group) => Number.parseInt(group || "0", 16));
	return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** @param network such as 10.0.0.0/8. Throws if it is none. */
function addNetwork(list: BlockList, network: string): void {
	const [address = "", bits = ""] = network.split("/");
	const type = isIPv4(address) ? "ipv4" : "ipv6";
	if (!/^\d+$/.test(bits)) throw new RangeError(`${network} is no network`);
	list.addSubnet(address, Number(bits), type);
}

/** A list of networks, such as ["10.0.0.0/8"]. Throws if one isn't. */
export function networkList(networks: string[]): BlockList {
	const list = new BlockList();
	for (const network of networks) addNetwork(list, network);
	return list;
}
