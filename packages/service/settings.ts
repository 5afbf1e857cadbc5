import { proxyMatcher } from "../fair/network.ts";

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
