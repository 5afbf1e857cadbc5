import type { NatsConnection } from "@nats-io/transport-node";
import type {
	ManifestAnswer,
	ManifestRequest,
	ResultAnswer,
	ResultRequest,
} from "../../contracts/manifest.ts";
import { manifestSubject, resultSubject } from "../../contracts/nats.ts";
import type { BackgroundWork } from "../../kube/reconcile/background-work.ts";
import type { ObjectKey } from "../../kube/resource.ts";
import { askArchive } from "../archive/ask.ts";
import type { FairLimit } from "../archive/fair-limit.ts";

/** What Runs and Operations ask archive with. */
export interface ArchiveMeans {
	nats: NatsConnection;
	/** The questions to archive, which may flush for long before it answers. */
	asks: BackgroundWork<ManifestAnswer>;
	/** The questions for results of Jobs. */
	results: BackgroundWork<ResultAnswer>;
	/** By account and shard, so that no account keeps archive from the others. */
	questions: FairLimit;
}

/** Undefined while archive is asked: the Run or Operation comes back when the answer is there. */
export function manifestAnswer(
	{ nats, asks, questions }: ArchiveMeans,
	key: ObjectKey,
	{ question, shard }: { question: ManifestRequest; shard: number },
): ManifestAnswer | undefined {
	const subject = manifestSubject(shard);
	const about = subject + JSON.stringify(question);
	return asks.outcomeOf(key, about, (signal, say) =>
		questions.run(`${question.account} ${shard}`, () =>
			askArchive<ManifestAnswer>(
				nats,
				{ subject, shard },
				question,
				"ManifestUnavailable",
				signal,
				say,
			),
		),
	);
}

/** As {@link manifestAnswer}, but the answer is given once. */
export function resultAnswer(
	{ nats, results }: ArchiveMeans,
	key: ObjectKey,
	{ question, shard }: { question: ResultRequest; shard: number },
): ResultAnswer | undefined {
	const subject = resultSubject(shard);
	const about = subject + JSON.stringify(question);
	const answer = results.outcomeOf(key, about, (signal) =>
		askArchive<ResultAnswer>(
			nats,
			{ subject, shard },
			question,
			"ResultUnavailable",
			signal,
		),
	);
	if (answer) results.drop(key);
	return answer;
}
