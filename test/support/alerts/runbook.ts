import { readFileSync } from "node:fs";
import { join } from "node:path";

const runbooks = join(import.meta.dirname, "../../../docs/runbooks");

/** The text of an alert's runbook. */
export function runbookOf(alert: string): string {
	return readFileSync(join(runbooks, `${alert}.md`), "utf8");
}

/**
 * The commands of a text, as a person copies them: lines of its blocks, and what stands in backquotes and begins with a program's name.
 * @param filled what a person puts in place of names, such as `{ "tidemill-system": "w0" }`.
 */
export function commandsIn(
	text: string,
	filled: Record<string, string> = {},
): string[] {
	const blocks = [...text.matchAll(/^```\w*\n(.*?)^```$/gms)].flatMap(
		([, block]) => block!.trim().split("\n"),
	);
	const inline = [...text.matchAll(/`((?:kubectl|tidemill|helm) [^`]+)`/g)].map(
		([, command]) => command!,
	);
	return [...new Set([...blocks, ...inline])].map((command) =>
		Object.entries(filled).reduce(
			(line, [name, value]) => line.replaceAll(name, value),
			command,
		),
	);
}
