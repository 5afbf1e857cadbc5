// commander: the usual parser of command lines, without dependencies. Its typings know each action's options by their flags.
import type { Command } from "@commander-js/extra-typings";
import { UsageError } from "./errors.ts";

/** Options that every command has, named as kubectl's are. */
export type ClusterOptions = {
	namespace?: string | undefined;
	context?: string | undefined;
	kubeconfig?: string | undefined;
};

/** A command whose sub-commands a file of its own defines, such as `tidemill sources`. */
// biome-ignore lint/complexity/noBannedTypes: commander's own type for "no options".
export type CommandGroup = Command<[], {}, ClusterOptions>;

/** What shows how a command is used, for its `addHelpText`. */
export function examples(...lines: string[]): ["after", string] {
	return [
		"after",
		`\nExamples:\n${lines.map((line) => `  $ ${line}\n`).join("")}`,
	];
}

/** The number that an option has, if it has one. */
export function countOf(
	option: string,
	text: string | undefined,
	most: number,
): number | undefined {
	if (text === undefined) return undefined;
	const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
	if (count >= 1 && count <= most) return count;
	throw new UsageError(
		`${option} is "${text}", but must be a number from 1 to ${most}`,
	);
}
