import { isIPv4, isIPv6 } from "node:net";

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
