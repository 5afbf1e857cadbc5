import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { githubSlug } from "../../../docs/.vitepress/headings.ts";

const root = join(import.meta.dirname, "../../..");

/** What a person copies: a fenced block of a page, the commands in an example's comment, or an example's query or program. */
export interface Piece {
	/** From the root. */
	page: string;
	/** The slug of the heading above it. */
	heading: string;
	language: string;
	/** The words behind the language. */
	about: string;
	text: string;
}

/** The pieces of a page or of an example, in their order. @param page Its path from the root. */
export function piecesOf(page: string): Piece[] {
	const text = readFileSync(join(root, page), "utf8");
	const [, language = ""] = /\.(sql|py|yaml)$/.exec(page) ?? [];
	const whole = { page, heading: "", language, about: "" };
	if (language === "yaml") {
		const commands = text.match(/^# {3}(?:kubectl|tidemill) .*\n/gm)?.join("");
		if (!commands) return [];
		const shell = commands.replaceAll(/^# {3}/gm, "");
		return [{ ...whole, language: "sh", text: shell }];
	}
	if (language) return [{ ...whole, text }];
	const parts = text.matchAll(
		/^#+ (.+)$|^( *)```(\w*) ?(.*)\n([\s\S]*?)^\2```$/gm,
	);
	let heading = "";
	return [...parts].flatMap(([, title, indent, language, about, block]) => {
		if (title) heading = githubSlug(title);
		if (block === undefined) return [];
		const text = block.replaceAll(new RegExp(`^${indent}`, "gm"), "");
		return [{ page, heading, language: language!, about: about!, text }];
	});
}

/**
 * The pieces at an address, for a test that runs them word for word. test/documented-pieces.test.ts reads the addresses of all these
 * calls, and is red at a piece that no test takes. So an address stands there as it is, not as a variable.
 * @param address A page or a pattern of pages, a heading's slug, a language, and which one of several: "docs/lake.md",
 * "docs/senders/*.md yaml" or "docs/install.md#uninstall sh 2". Throws if nothing is there.
 */
export function documented(address: string): Piece[] {
	const [, pages, heading, language, number] =
		/^([^#\s]+)(?:#(\S+))?(?: ([a-z]+))?(?: (\d+))?$/.exec(address) ?? [];
	const found = globSync(pages ?? "", { cwd: root })
		.toSorted()
		.flatMap(piecesOf)
		.filter((piece) => heading === undefined || piece.heading === heading)
		.filter((piece) => language === undefined || piece.language === language)
		.filter((_, index) => number === undefined || index + 1 === Number(number));
	if (found.length === 0) throw new Error(`Nothing is at "${address}".`);
	return found;
}

/** The texts of the pieces at an address, one after the other. */
export function documentedText(address: string): string {
	return textOf(documented(address));
}

/** The texts of pieces, one after the other. */
export function textOf(pieces: Piece[]): string {
	return pieces.map(({ text }) => text).join("");
}
