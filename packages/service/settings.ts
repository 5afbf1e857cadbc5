/** A missing or wrong setting. The message names the variable, its value, and what is allowed. */
export class SettingError extends Error {
	override name = "SettingError";
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
