import type { NatsConnection } from "@nats-io/transport-node";
import type { Logger } from "./log.ts";
import { within } from "./pause.ts";

/** A part of a process. It needs the parts before it. */
export interface ProcessPart {
	/** For logs. */
	name: string;
	/**
	 * Settles when the next part may start.
	 * @param stopping fires when the process must end, even while this part starts.
	 */
	start(stopping: AbortSignal): Promise<StartedPart>;
}

export interface StartedPart {
	/** Rejects when the part can't continue, which ends the process. */
	failed?: Promise<never>;
	/** Settles when the part has ended. */
	stop(): Promise<void>;
}

/** A connection to NATS. The client reconnects for ever, so one that closes can't go on. */
export function natsPart(
	connect: (stopping: AbortSignal) => Promise<NatsConnection>,
): ProcessPart {
	return {
		name: "NATS",
		start: async (stopping) => {
			const nats = await connect(stopping);
			const failed = nats.closed().then((cause): never => {
				throw new Error("NATS closed the connection for good", { cause });
			});
			return { failed, stop: () => nats.close() };
		},
	};
}

/**
 * Starts the parts in order. At the signal, or when a part fails, stops them in reverse order (as the runnable groups of
 * controller-runtime). Throws the failed part's error. Also throws when a part doesn't stop in time, and then leaves the parts
 * before it running: the process must end before the late part loses what it needs.
 */
export async function runInOrder(
	parts: ProcessPart[],
	signal: AbortSignal,
	options: { stopTimeoutMs: number; log: Logger },
): Promise<void> {
	const started: { name: string; part: StartedPart }[] = [];
	const { promise: stopped, resolve } = Promise.withResolvers<void>();
	if (signal.aborted) resolve();
	signal.addEventListener("abort", () => resolve(), { once: true });
	const { promise: failed, reject } = Promise.withResolvers<never>();
	// Raced below once all parts have started.
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
		// The signal interrupted the start.
		if (!signal.aborted) throw error;
	} finally {
		for (const { name, part } of started.toReversed()) {
			options.log.debug({ part: name }, "stopping");
			const { stopTimeoutMs } = options;
			const late = `${name} did not stop in ${stopTimeoutMs} ms`;
			await within(stopTimeoutMs, part.stop(), late);
		}
	}
}

/**
 * An AbortSignal that fires on the first SIGTERM or SIGINT, so that a role can stop in order. A second signal ends the
 * process at once.
 */
export function stopSignal(): AbortSignal {
	const controller = new AbortController();
	for (const name of ["SIGTERM", "SIGINT"] as const)
		process.on(name, () => {
			if (controller.signal.aborted) process.exit(130);
			controller.abort();
		});
	return controller.signal;
}
