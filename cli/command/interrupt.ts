import { remark } from "./output.ts";

/**
 * Waits for something that goes on without this command. Ctrl-C ends the command alone, and it says so with `farewell`: what goes
 * on, and how to wait for it again.
 */
export async function untilInterrupted<T>(
	farewell: string,
	waiting: Promise<T>,
): Promise<T> {
	const leave = () => {
		// Below the line with ^C, which may hold a progress bar.
		remark(`\n${farewell}\n`);
		process.exit(130);
	};
	process.once("SIGINT", leave);
	try {
		return await waiting;
	} finally {
		process.off("SIGINT", leave);
	}
}
