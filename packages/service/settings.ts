import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";

/** A missing or wrong setting. The message names the variable, its value, and what is allowed. */
export class SettingError extends Error {
	override name = "SettingError";
}

/** Rejects what a server's `listen` does, and says which setting names a port that is taken. */
export function explainTakenPort(name: string) {
	return (error: NodeJS.ErrnoException & { port?: number }): never => {
		if (error.code !== "EADDRINUSE") throw error;
		throw new SettingError(
			`${name} is ${error.port}, a port that another process uses. Set ${name} to a free port.`,
		);
	};
}

type Environment = Record<string, string | undefined>;

/** Reads settings from environment variables; each reader throws {@link SettingError}. */
export class Settings {
	readonly #env: Environment;

	constructor(env: Environment = process.env) {
		this.#env = env;
	}

	/** An empty value counts as unset, because an empty Helm value gives one. */
	optional(name: string): string | undefined {
		return this.#env[name] || undefined;
	}

	text(name: string, fallback?: string): string {
		const value = this.optional(name) ?? fallback;
		if (value === undefined)
			throw new SettingError(`${name} is not set. Set it and restart.`);
		return value;
	}

	/** A whole number in this range, both ends included. */
	integer(
		name: string,
		[min, max]: [min: number, max: number],
		fallback?: number,
	): number {
		const text = this.text(name, fallback?.toString());
		const value = Number(text);
		if (!Number.isInteger(value) || value < min || value > max)
			throw new SettingError(
				`${name} is "${text}". It must be a whole number from ${min} to ${max}.`,
			);
		return value;
	}

	/** A TCP port; 0 for any that is free. */
	port(name: string, fallback?: number): number {
		return this.integer(name, [0, 65_535], fallback);
	}

	/** How many servers of NATS keep what this process makes there. */
	replicas(): number {
		return this.integer("STREAM_REPLICAS", [1, 5], 1);
	}

	/** How many shards the events are spread over. */
	shards(): number {
		return this.integer("TIDEMILL_SHARDS", [1, 1_024], 1);
	}

	/** The parts of a text that commas separate; undefined if it is not set. */
	list(name: string): string[] | undefined {
		return this.optional(name)
			?.split(",")
			.map((part) => part.trim())
			.filter(Boolean);
	}

	/** Addresses and networks of trusted proxies. Returns whether an address is one of them. */
	proxies(name: string): (address: string) => boolean {
		try {
			return proxyMatcher(this.list(name) ?? []);
		} catch (error) {
			throw new SettingError(`${name}: ${(error as RangeError).message}.`);
		}
	}

	/** A URL of HTTP, without its trailing slash. Clients speak plain HTTP to any scheme but https. */
	url(name: string, fallback?: string): string {
		const text = this.text(name, fallback);
		if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
			throw new SettingError(
				`${name} is not a URL of HTTP. It must look like https://host:port.`,
			);
		return text.replace(/\/+$/, "");
	}

	boolean(name: string, fallback: boolean): boolean {
		const text = this.text(name, String(fallback));
		if (text !== "true" && text !== "false")
			throw new SettingError(`${name} is "${text}". It must be true or false.`);
		return text === "true";
	}
}

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
