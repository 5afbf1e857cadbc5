export class NotJson extends Error {}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
export const openBracket = 0x5b;
const closeBracket = 0x5d;
export const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Goes through a valid JSON text once, value by value, and passes without recursion what nobody reads. A text that isn't JSON
 * throws {@link NotJson}, or not. Who reads each level, however deep, or a text in pieces, goes by tokens instead.
 */
export class JsonReader {
	protected readonly body: string;
	protected at = 0;

	constructor(body: string) {
		this.body = body;
	}

	/** At an object: calls `read` at each member's value, with the name as it is written. It must pass the value. */
	protected members(read: (written: string) => void): void {
		this.at++;
		while (this.next() !== closeBrace) {
			const from = this.at;
			this.string();
			const written = this.body.slice(from, this.at);
			if (this.next() !== colon) throw new NotJson();
			this.at++;
			read(written);
			if (this.next() === comma) this.at++;
		}
		this.at++;
	}

	/** The same at an array. */
	protected items(read: (index: number) => void): void {
		this.at++;
		for (let index = 0; this.next() !== closeBracket; index++) {
			read(index);
			if (this.next() === comma) this.at++;
		}
		this.at++;
	}

	/** Passes a value, and returns its text. */
	protected text(): string {
		this.space();
		const from = this.at;
		this.skip();
		return this.body.slice(from, this.at);
	}

	protected passValue(): void {
		this.space();
		this.skip();
	}

	/** The next character that is no white space. */
	protected next(): number {
		this.space();
		return this.body.charCodeAt(this.at);
	}

	/** A byte order mark counts as white space: receive takes it off, and what is stored may be older. */
	protected space(): void {
		const body = this.body;
		for (;;) {
			const code = body.charCodeAt(this.at);
			if (code > 0x20 ? code !== 0xfeff : !(code >= 0)) return;
			this.at++;
		}
	}

	/** Passes a value, which begins here. */
	protected skip(): void {
		const body = this.body;
		let depth = 0;
		do {
			const code = body.charCodeAt(this.at);
			if (code === quote) this.string();
			else if (code === openBrace || code === openBracket) {
				depth++;
				this.at++;
			} else if (code === closeBrace || code === closeBracket) {
				depth--;
				this.at++;
			} else if (
				depth > 0 &&
				(code <= 0x20 || code === comma || code === colon)
			)
				this.at++;
			else this.#literal();
		} while (depth > 0);
		if (depth < 0) throw new NotJson();
	}

	#literal(): void {
		const from = this.at;
		for (;;) {
			const code = this.body.charCodeAt(this.at);
			const isPart =
				code > 0x20 &&
				code !== comma &&
				code !== colon &&
				code !== quote &&
				(code | 0x20) !== openBrace &&
				(code | 0x20) !== closeBrace;
			if (!isPart) break;
			this.at++;
		}
		if (this.at === from) throw new NotJson();
	}

	protected string(): void {
		if (this.body.charCodeAt(this.at) !== quote) throw new NotJson();
		const end = endOfString(this.body, this.at);
		if (end < 0) throw new NotJson();
		this.at = end;
	}
}

/** The string that a JSON text is. */
export function decoded(json: string): string {
	return json.includes("\\") ? JSON.parse(json) : json.slice(1, -1);
}

/** Of the string that begins here: where the text goes on. Without an end, -1. */
export function endOfString(json: string, from: number): number {
	for (let end = from; ; ) {
		end = json.indexOf('"', end + 1);
		if (end < 0) return -1;
		let before = end - 1;
		while (json[before] === "\\") before--;
		if ((end - before) % 2 === 1) return end + 1;
	}
}
