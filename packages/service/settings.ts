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

	integer(
		name: string,
		bounds: { min: number; max: number; fallback?: number },
	): number {
		const text = this.text(name, bounds.fallback?.toString());
		const value = Number(text);
		if (!Number.isInteger(value) || value < bounds.min || value > bounds.max)
			throw new SettingError(
				`${name} is "${text}". It must be a whole number from ${bounds.min} to ${bounds.max}.`,
			);
		return value;
	}

	/** A TCP port; 0 for any that is free. */
	port(name: string, fallback?: number): number {
		const bounds = { min: 0, max: 65_535 };
		return this.integer(name, {
			...bounds,
			...(fallback !== undefined && { fallback }),
		});
	}

	/** How many servers of NATS keep what this process makes there. */
	replicas(): number {
		return this.integer("STREAM_REPLICAS", { min: 1, max: 5, fallback: 1 });
	}

	/** How many shards the events are spread over. */
	shards(): number {
		return this.integer("TIDEMILL_SHARDS", { min: 1, max: 1_024, fallback: 1 });
	}

	/** The parts of a text that commas separate; undefined if it is not set. */
	list(name: string): string[] | undefined {
		return this.optional(name)
			?.split(",")
			.map((part) => part.trim())
			.filter(Boolean);
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
