import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";

/**
 * What counts as one sender: an IPv4 address, or the first 64 bits of an IPv6 address, because one host can use every
 * address below them (RFC 4291 §2.5.4, RFC 6177 §2).
 */
export function networkOf(address: string): string {
	if (!isIPv6(address)) return address;
	const [plain] = address.split("%");
	const last = plain!.slice(plain!.lastIndexOf(":") + 1);
	// A dual-stack socket shows an IPv4 client so (RFC 4291 §2.5.5.2).
	if (isIPv4(last)) return last;
	const [head = [], tail = []] = plain!.split("::").map(groupsOf);
	const zeros = Array<string>(8 - head.length - tail.length).fill("0");
	const groups = [...head, ...zeros, ...tail].slice(0, 4);
	const digits = groups.map((group) => Number.parseInt(group, 16).toString(16));
	return `${digits.join(":")}::/64`;
}

function groupsOf(text: string): string[] {
	return text === "" ? [] : text.split(":");
}

/** The names that fastify's `trustProxy` has for networks. */
const named: Record<string, string[]> = {
	loopback: ["127.0.0.0/8", "::1/128"],
	linklocal: ["169.254.0.0/16", "fe80::/10"],
	uniquelocal: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};

/**
 * Whether an address is one of these proxies.
 *
 * @param proxies addresses and networks. Throws a RangeError that names one that is neither.
 */
export function proxyMatcher(
	proxies: readonly string[],
): (address: string) => boolean {
	const list = new BlockList();
	for (const proxy of proxies)
		for (const network of named[proxy] ?? [proxy]) addNetwork(list, network);
	return (address) => {
		const [plain] = address.split("%");
		const family = isIP(plain!);
		return family !== 0 && list.check(plain!, family === 4 ? "ipv4" : "ipv6");
	};
}

function addNetwork(list: BlockList, network: string): void {
	const [, address = "", prefix] = /^([^/]*)(?:\/(.+))?$/.exec(network) ?? [];
	const family = isIP(address);
	const most = family === 4 ? 32 : 128;
	const bits = prefix === undefined ? most : prefixBits(prefix);
	if (family === 0 || !(bits <= most))
		throw new RangeError(
			`"${network}" is neither an address nor a network, such as 10.0.0.7 or 10.0.0.0/24`,
		);
	list.addSubnet(address, bits, family === 4 ? "ipv4" : "ipv6");
}

/** Of `24`, and of the mask `255.255.255.0`. NaN for other texts. */
function prefixBits(text: string): number {
	if (!isIPv4(text)) return /^\d+$/.test(text) ? Number(text) : Number.NaN;
	const octets = text.split(".").map((octet) => Number(octet).toString(2));
	const bits = octets.map((octet) => octet.padStart(8, "0")).join("");
	return /^1*0*$/.test(bits) ? bits.lastIndexOf("1") + 1 : Number.NaN;
}
