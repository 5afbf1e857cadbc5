/** Runs all tasks, some at a time. After the first error it starts no more, and waits for those that are running. */
export async function inParallel(
	tasks: (() => Promise<void>)[],
	concurrency: number,
): Promise<void> {
	const left = tasks.values();
	let failure: { error: unknown } | undefined;
	const worker = async () => {
		for (const task of left) {
			if (failure) return;
			await task().catch((error) => {
				failure ??= { error };
			});
		}
	};
	await Promise.all(Array.from({ length: concurrency }, worker));
	if (failure) throw failure.error;
}
