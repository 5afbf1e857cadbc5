import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { readWalks, type Walk } from "../../../tools/house/walks.ts";

const page = join(import.meta.dirname, "../../../CONTRIBUTING.md");

export const walks: Walk[] = readWalks(readFileSync(page, "utf8"));

/**
 * Compares a walk with what one case has executed ({@link file://./executed-files.ts executedFiles}): each file of the operator,
 * of ingest and of the plan's package is on the walk or in a list below it, and each of these on the walk is executed.
 */
export function expectWalk(about: RegExp, executed: string[]): void {
	const walk = walks.find(({ title }) => about.test(title));
	if (!walk) throw new Error(`CONTRIBUTING.md has no walk about ${about}.`);
	const files = walk.files.map(({ path }) => path);
	const listed = new Set([...files, ...walk.besides]);
	expect({
		executedAndNotListed: executed.filter(
			(path) => isInWalks(path) && !listed.has(path),
		),
		onTheWalkAndNotExecuted: files.filter(
			(path) => isInWalks(path) && !executed.includes(path),
		),
	}).toEqual({ executedAndNotListed: [], onTheWalkAndNotExecuted: [] });
}

function isInWalks(path: string): boolean {
	return /^(operator|ingest|packages\/tracking-plan)\/.*\.ts$/.test(path);
}
