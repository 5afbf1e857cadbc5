/**
 * A manifest may name hundreds of thousands of objects, each by a link of a kilobyte, and V8 has no text of more than 512 MiB. So
 * its text is never there as a whole: it is written and read date by date. It is one JSON document all the same (RFC 8259), whose
 * members are in any order.
 */
const dates = "dates";

/** The text of a manifest, in pieces. @param rest all but its dates. */
export async function* manifestText<Day>(
	rest: object,
	days: AsyncIterable<Day> | Iterable<Day>,
): AsyncGenerator<string> {
	const { [dates]: _, ...others } = rest as Record<string, unknown>;
	const text = JSON.stringify(others);
	yield `${text.slice(0, -1)}${text === "{}" ? "" : ","}"${dates}":[`;
	let before = "";
	for await (const day of days) {
		yield before + JSON.stringify(day);
		before = ",";
	}
	yield "]}";
}

const special = /["\\]/g;
const [quote, comma, colon] = [0x22, 0x2c, 0x3a];
const [openArray, closeArray, openObject, closeObject] = [
	0x5b, 0x5d, 0x7b, 0x7d,
];

/**
 * Divides a JSON object, such as a manifest or a compaction's record, into the texts of the elements of one list and the rest. It
 * validates nothing: what isn't JSON becomes texts that aren't JSON either.
 */
export class ListDivider {
	readonly #list: string;
	readonly #decoder = new TextDecoder();
	#depth = 0;
	#isInString = false;
	#isEscaped = false;
	/** The last text of the outermost object, which may be the name of a member. */
	#text = "";
	#name = "";
	#isInList = false;
	#element = "";
	#rest = "";

	/** @param list The name of its member. */
	constructor(list: string) {
		this.#list = list;
	}

	/** Returns the texts of the elements that end in these bytes. They are of any length, and may divide a character. */
	push(bytes: Uint8Array): string[] {
		// The decoder keeps the first bytes of a character for the next time.
		return this.divide(this.#decoder.decode(bytes, { stream: true }));
	}

	/** The whole without its elements, when all bytes were pushed: a JSON text whose list is empty. */
	get rest(): string {
		return this.#rest + this.#element;
	}

	/** As {@link push}, of a text. */
	divide(text: string): string[] {
		const elements: string[] = [];
		/** From where on the text isn't taken yet. */
		let from = 0;
		const take = (to: number) => {
			const taken = text.slice(from, to);
			from = to;
			if (this.#isInList) this.#element += taken;
			else this.#rest += taken;
		};
		for (let at = 0; at < text.length; at++) {
			const code = text.charCodeAt(at);
			if (this.#isInString) {
				const start = at;
				at = this.#endOfString(text, at);
				if (this.#depth === 1) this.#text += text.slice(start, at);
				continue;
			}
			switch (code) {
				case quote:
					this.#isInString = true;
					if (this.#depth === 1) this.#text = "";
					break;
				case colon:
					if (this.#depth === 1) this.#name = this.#text;
					break;
				case openObject:
				case openArray:
					this.#depth++;
					if (code === openObject || this.#depth !== 2) break;
					if (this.#name !== this.#list) break;
					take(at + 1);
					this.#isInList = true;
					break;
				case closeObject:
				case closeArray:
					this.#depth--;
					if (!this.#isInList || this.#depth !== 1) break;
					take(at);
					this.#endElement(elements);
					this.#isInList = false;
					break;
				case comma:
					if (this.#isInList && this.#depth === 2) {
						take(at);
						from = at + 1;
						this.#endElement(elements, true);
					} else if (this.#depth === 1) this.#name = "";
			}
		}
		take(text.length);
		return elements;
	}

	/** The place of the character that ends the string, or the end of the text. */
	#endOfString(text: string, from: number): number {
		let at = from;
		if (this.#isEscaped) {
			this.#isEscaped = false;
			at++;
		}
		// Most of a manifest is links, and of a record names, without any of the two.
		for (;;) {
			special.lastIndex = at;
			const found = special.exec(text);
			if (!found) return text.length;
			if (text.charCodeAt(found.index) === quote) {
				this.#isInString = false;
				return found.index;
			}
			at = found.index + 2;
			if (at <= text.length) continue;
			this.#isEscaped = true;
			return text.length;
		}
	}

	#endElement(elements: string[], hasNext = false): void {
		// Between the brackets of an empty list there may be spaces.
		if (hasNext || this.#element.trim() !== "") elements.push(this.#element);
		this.#element = "";
	}
}

/** Reads a manifest: its dates one by one, and in the end the rest. Throws SyntaxError if it isn't JSON. */
export async function* readManifestText<Manifest extends { dates: unknown[] }>(
	chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Manifest["dates"][number], Manifest> {
	const divider = new ListDivider(dates);
	for await (const chunk of chunks)
		for (const day of divider.push(chunk)) yield JSON.parse(day);
	return JSON.parse(divider.rest);
}
