import type { Logger } from "./log.ts";

/** A part of a process, which needs those before it in the order. */
export interface Part {
	/** For logs. */
	name: string;
	/**
	 * Settles when the next part may start.
	 * @param stopping fires when the process is to end, also while this still starts.
	 */
	start(stopping: AbortSignal): Promise<StartedPart>;
}

export interface StartedPart {
	/** Rejects when the part can't go on, which ends the process. */
	failed?: Promise<never>;
	/** Settles when it has ended. */
	stop(): Promise<void>;
}

/**
 * Starts the parts in their order, and stops them in the reverse one, at the signal or when one of them fails, whose
 * error is thrown then. Throws as well when a part doesn't stop in time: what it still does must end with the process,
 * before anything that it needs is taken away (as the runnable groups of controller-runtime).
 */
export async function runInOrder(
	parts: Part[],
	signal: AbortSignal,
	options: { stopTimeoutMs: number; log: Logger },
): Promise<void> {
	const started: { name: string; part: StartedPart }[] = [];
	const { promise: stopped, resolve } = Promise.withResolvers<void>();
	if (signal.aborted) resolve();
	signal.addEventListener("abort", () => resolve(), { once: true });
	const { promise: failed, reject } = Promise.withResolvers<never>();
	// Heard below, if all parts come to start.
	failed.catch(() => {});
	try {
		for (const { name, start } of parts) {
			if (signal.aborted) break;
			const part = await start(signal);
			started.push({ name, part });
			part.failed?.catch(reject);
		}
		await Promise.race([stopped, failed]);
	} catch (error) {
		// Starting was broken off because the process is to end.
		if (!signal.aborted) throw error;
	} finally {
		for (const { name, part } of started.toReversed()) {
			options.log.debug({ part: name }, "stopping");
			await withDeadline(name, part.stop(), options.stopTimeoutMs);
		}
	}
}

async function withDeadline(
	name: string,
	stopping: Promise<void>,
	timeoutMs: number,
): Promise<void> {
	const { promise: late, reject } = Promise.withResolvers<never>();
	const timer = setTimeout(
		() => reject(new Error(`${name} did not stop in ${timeoutMs} ms`)),
		timeoutMs,
	);
	try {
		await Promise.race([stopping, late]);
	} finally {
		clearTimeout(timer);
	}
}
