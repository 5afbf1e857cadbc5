/** Errors whose first line names files, sizes or tables. Those of all other kinds may quote a key, a text or a statement. */
const quoteless = [
	/^(Catalog|INTERRUPT|Out of Memory|Permission|Serialization) Error: /,
	// One that happened while the file was opened stands in the same line, whatever its kind.
	/^IO Error: (?!.* Error: )/,
	/^TransactionContext Error: Failed to commit: failed to pin block\b/,
	/^FATAL Error: Failed to rollback transaction\./,
];

/**
 * An error of DuckDB as people may read it: DuckDB's errors have no codes, only text, and most of it may quote data. The whole
 * text can be asked for a pattern, and is in no message, log or stack.
 */
export class DuckDBRefusal extends Error {
	override name = "DuckDBRefusal";
	readonly #words: string;

	constructor(words: string) {
		// The lines after the first are advice for people at DuckDB's prompt.
		const line = words.split("\n", 1)[0]!;
		const [kind] = /^[A-Z][A-Za-z ]{0,40} Error(?=:)/.exec(line) ?? [];
		super(
			quoteless.some((pattern) => pattern.test(line))
				? line
				: `DuckDB's ${kind ?? "error"}`,
		);
		this.#words = words;
	}

	/** What a pattern finds in DuckDB's own words. Only a name may leave here. */
	match(pattern: RegExp): RegExpExecArray | null {
		return pattern.exec(this.#words);
	}
}

/** What DuckDB does, with its errors as {@link DuckDBRefusal}. */
export async function refusing<T>(work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (error) {
		throw error instanceof Error ? new DuckDBRefusal(error.message) : error;
	}
}
