import { jsonText } from "../output/json.ts";

/**
 * Says on standard error how far a piece of work is: on a terminal as text for people, and otherwise as a line of JSON for
 * programs, once for each change.
 */
export class ProgressLines {
	readonly #stream: NodeJS.WriteStream;
	#said = "";
	#noted = "";

	constructor(stream = process.stderr) {
		this.#stream = stream;
	}

	/** One line for each text. */
	say(facts: object, text: string): void {
		if (!this.#stream.isTTY) this.note(facts);
		else if (text !== this.#said) this.#stream.write(`${text}\n`);
		this.#said = text;
	}

	/** On a terminal, one line that is updated in place, which `text` makes for its width. */
	update(facts: object, text: (columns: number) => string): void {
		const { isTTY, columns = 80 } = this.#stream;
		if (isTTY) this.#stream.write(`\r\x1b[K${text(columns - 1)}`);
		else this.note(facts);
	}

	/** What only programs need. */
	note(facts: object): void {
		const said = JSON.stringify(facts);
		if (this.#stream.isTTY || said === this.#noted) return;
		this.#noted = said;
		const time = new Date().toISOString();
		this.#stream.write(`${jsonText({ time, ...facts })}\n`);
	}

	/** Removes the line that was updated in place. */
	clear(): void {
		if (this.#stream.isTTY) this.#stream.write("\r\x1b[K");
	}
}
