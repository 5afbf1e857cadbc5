import { isTest } from "./import-graph.ts";

/** A feature of the data plane, and what tells that a file knows it. */
export interface Feature {
	name: string;
	/** Words of code, from the first one that the feature had to those that took its place: a new name hides nothing. */
	words: string[];
	/** The folders and files that hold the feature, in which it may be named. */
	folders: string[];
	/** Endings of the paths of files in which the word means something else. */
	othersWord?: string[];
	/** Files elsewhere that may name it: 45 % of those that did before features became rooms. */
	target: number;
}

/** Each stands in a room of its own; the main path knows none of them (a step in a list, an object in a folder). */
export const features: Feature[] = [
	{
		name: "early",
		words: ["early"],
		folders: ["ingest/lake/early", "ingest/load/steps/early.ts"],
		target: 12,
	},
	{
		name: "released",
		words: ["releas"],
		folders: ["ingest/lake/release", "ingest/load/steps/released.ts"],
		// A lease, a savepoint and a key.
		othersWord: [
			"wire/idempotency-entry.ts",
			"reconcile/lease.ts",
			"load/swap.ts",
		],
		target: 19,
	},
	{
		name: "erase",
		words: ["eras"],
		folders: [
			"ingest/lake/erasure",
			"ingest/load/steps/erased.ts",
			"ingest/load/steps/told-rows.ts",
		],
		target: 14,
	},
	{
		name: "quarantine",
		words: ["quarantin"],
		folders: ["ingest/lake/release", "ingest/operation/inspection.ts"],
		target: 23,
	},
	{
		name: "compact",
		// "To compact" alone is said of Kubernetes' etcd, and of a format of rows.
		words: ["compaction", "compacted", "compactor"],
		folders: ["ingest/lake/compaction"],
		target: 8,
	},
];

/**
 * The files of the data plane that name a feature outside its own folders: in identifiers, texts and paths of imports, not in comments.
 * @param files The text of each TypeScript file by its path from the root.
 */
export function filesNaming(
	{ words, folders, othersWord = [] }: Feature,
	files: ReadonlyMap<string, string>,
): string[] {
	return [...files]
		.filter(
			([path, text]) =>
				/^(ingest|packages|clients\/typescript)\/.*\.ts$/.test(path) &&
				!isTest(path) &&
				!othersWord.some((ending) => path.endsWith(ending)) &&
				!folders.some((folder) => `${path}/`.startsWith(`${folder}/`)) &&
				namesAny(text, words),
		)
		.map(([path]) => path);
}

function namesAny(text: string, words: string[]): boolean {
	const isNamed = (some: string) =>
		words.some((word) => some.toLowerCase().includes(word));
	return isNamed(text) && isNamed(withoutComments(text));
}

/** Texts, which may hold what looks like a comment, an escaped character of a regular expression, or a comment. */
const textOrComment =
	/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\\.|(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)/g;

/** What is left of a TypeScript file when its comments are gone. */
export function withoutComments(text: string): string {
	return text.replace(textOrComment, (found, comment: string | undefined) =>
		comment === undefined ? found : "",
	);
}
