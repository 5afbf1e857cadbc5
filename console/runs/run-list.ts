import type { RunView } from "./calendar.ts";

export interface RunFilter {
	pipeline: string;
	status: string;
}

/**
 * Runs that a page has read by cursor, and the newest ones, which the live stream has: the newest first, each once, as the stream
 * has it. One that the stream should have and hasn't is deleted.
 * @param hasMore whether there are older pages, to which an older Run of the stream belongs.
 */
export function mergedRuns(
	pages: readonly RunView[],
	live: ReadonlyMap<string, RunView>,
	{ pipeline, status }: RunFilter,
	hasMore = false,
): RunView[] {
	const stream = [...live.values()].sort(newestFirst);
	const oldestLive = stream.at(-1);
	const oldestRead = hasMore ? pages.at(-1) : undefined;
	const isDeleted = (run: RunView) =>
		oldestLive !== undefined &&
		newestFirst(run, oldestLive) < 0 &&
		!live.has(run.name);
	const read = pages.filter((run) => !live.has(run.name) && !isDeleted(run));
	const shown = stream.filter(
		(run) => oldestRead === undefined || newestFirst(run, oldestRead) <= 0,
	);
	return [...shown, ...read]
		.filter(
			(run) =>
				(pipeline === "" || run.pipeline === pipeline) &&
				(status === "" || run.status === status),
		)
		.sort(newestFirst);
}

export function newestFirst(a: RunView, b: RunView): number {
	if (a.createTime !== b.createTime)
		return a.createTime > b.createTime ? -1 : 1;
	return a.name > b.name ? -1 : a.name < b.name ? 1 : 0;
}
