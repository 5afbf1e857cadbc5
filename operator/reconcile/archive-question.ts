import {
	type NatsConnection,
	NoRespondersError,
} from "@nats-io/transport-node";
import {
	type ArchiveNotice,
	noticeIntervalMs,
} from "../../packages/contracts/archive.ts";
import { type Logger, withhold } from "../../packages/service/log.ts";

/** Archive's answer if it can't do what it is asked, or can't do it yet. */
export interface ArchiveRefusal {
	ok: false;
	error: { code: string; message: string; retryable: boolean };
}

/** Archive may pause for a few seconds while it writes. */
const silenceMs = 8 * noticeIntervalMs;

/**
 * Asks archive about a shard, and waits for as long as archive says that it works on it. Never throws: a missing answer
 * becomes a retryable refusal.
 * @param noAnswer The code of that refusal.
 * @param signal Nobody needs the answer any more.
 * @param say gets how far archive is, if that has changed, every ten seconds at most.
 */
export async function askArchive<Answer extends object>(
	{ nats, log }: { nats: NatsConnection; log: Logger },
	{ subject, shard }: { subject: string; shard: number },
	question: unknown,
	noAnswer: string,
	signal: AbortSignal,
	say?: (progress: string) => void,
): Promise<Answer | ArchiveRefusal> {
	const sayNow = everySoOften(say);
	let lastError = `silent for ${silenceMs / 1_000} s`;
	try {
		signal.throwIfAborted();
		const replies = await nats.requestMany(subject, JSON.stringify(question), {
			strategy: "stall",
			maxWait: silenceMs,
			stall: silenceMs,
		});
		for await (const reply of replies) {
			const said = reply.json<Answer | ArchiveNotice>();
			if (!("working" in said)) return said;
			if (signal.aborted) break;
			if (said.progress !== undefined) sayNow(said.progress);
		}
	} catch (error) {
		lastError =
			error instanceof NoRespondersError
				? "nobody listens"
				: withhold(log, error, "the operator", "archive can't be asked");
	}
	return {
		ok: false,
		error: {
			code: noAnswer,
			message: `Archive of shard ${shard} did not answer (${lastError}). Check that tidemill archive and NATS are running.`,
			retryable: true,
		},
	};
}

/** People read it in a status, and each change is a write. */
function everySoOften(say: (progress: string) => void = () => undefined) {
	let last = "";
	let saidMs = Number.NEGATIVE_INFINITY;
	return (progress: string) => {
		const nowMs = performance.now();
		if (progress === last || nowMs - saidMs < 10_000) return;
		[last, saidMs] = [progress, nowMs];
		say(progress);
	};
}
