import { createHash } from "node:crypto";

/** Ends the name of a table or a column whose own is taken. @param tries How many of its digests are taken, too. */
export function nameDigest(key: string, tries: number): string {
	return createHash("sha256")
		.update(JSON.stringify([key, tries]))
		.digest("hex")
		.slice(0, 8);
}

/** Whether a type's table has a name by a digest, which it keeps for good. */
export function isNamedByDigest(type: string, table: string): boolean {
	return [0, 1, 2].some((tries) =>
		table.endsWith(`_${nameDigest(type, tries)}`),
	);
}
