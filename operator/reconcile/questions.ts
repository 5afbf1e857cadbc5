import type { NatsConnection } from "@nats-io/transport-node";
import type {
	AdditionAnswer,
	DeletionAnswer,
	DeletionRequest,
	ErasureAnswer,
	ErasureRequest,
	ReleaseRequest,
} from "../../packages/contracts/archive.ts";
import type {
	ManifestAnswer,
	ManifestRequest,
	ResultAnswer,
	ResultRequest,
} from "../../packages/contracts/manifest.ts";
import {
	deletionSubject,
	erasureSubject,
	importSubject,
	manifestSubject,
	releaseSubject,
	resultSubject,
	retentionSubject,
} from "../../packages/contracts/nats.ts";
import type {
	RetentionAnswer,
	RetentionRequest,
} from "../../packages/contracts/retention.ts";
import type { ImportRequest } from "../../packages/contracts/transfer.ts";
import { FairLimit } from "../../packages/fair/fair-limit.ts";
import { BackgroundWork } from "../../packages/kube/reconcile/background-work.ts";
import {
	type KubeObject,
	keyOf,
	type ObjectKey,
} from "../../packages/kube/resource.ts";
import type { Logger } from "../../packages/service/log.ts";
import { askArchive } from "./archive-question.ts";

/** What the controllers ask archive, and what it answers. */
interface Questions {
	/** What to read. Archive may flush for long before it answers. */
	askManifest: { question: ManifestRequest; answer: ManifestAnswer };
	/** What a Job left in the bucket. */
	askResult: { question: ResultRequest; answer: ResultAnswer };
	/** To release events from quarantine. */
	askRelease: { question: ReleaseRequest; answer: AdditionAnswer };
	/** To erase events for good. */
	askErase: { question: ErasureRequest; answer: ErasureAnswer };
	/** To add what the Job of an Import has left. */
	askImport: { question: ImportRequest; answer: AdditionAnswer };
	/** To keep a Source's events for another time. */
	askRetention: { question: RetentionRequest; answer: RetentionAnswer };
	/** To delete a Source's events. */
	askDeletion: { question: DeletionRequest; answer: DeletionAnswer };
}

export type QuestionType = keyof Questions;

/** The answer is part of the state of a later reconcile. */
export type AskAction<Type extends QuestionType = QuestionType> = {
	[T in Type]: { type: T; shard: number; question: Questions[T]["question"] };
}[Type];

export type PositiveAnswer<Type extends QuestionType> = Extract<
	Questions[Type]["answer"],
	{ ok: true }
>;

/** Whether an action asks archive something, whatever it is. */
export function isQuestion(action: { type: string }): action is AskAction {
	return Object.hasOwn(questions, action.type);
}

/** Archive's last answer about an object. `about` says which question. */
export interface ArchiveAnswer {
	about: string;
	answer: Questions[QuestionType]["answer"];
}

/** The answer to this very question, if archive has given it. */
export function answerTo<Type extends QuestionType>(
	answered: ArchiveAnswer | undefined,
	ask: AskAction<Type>,
): Questions[Type]["answer"] | undefined {
	return answered?.about === aboutOf(ask as AskAction)
		? (answered.answer as Questions[Type]["answer"])
		: undefined;
}

/** What archive said about the result of a Job, if it was asked that last. An object has one Job at a time. */
export function storedIn(
	answered: ArchiveAnswer | undefined,
): ResultAnswer | undefined {
	return answered?.about.startsWith('["askResult"')
		? (answered.answer as ResultAnswer)
		: undefined;
}

/** What makes two questions the same. The time that is left and the days that are kept move on: the first question counts. */
export function aboutOf({ type, shard, question }: AskAction): string {
	const { linkSeconds: _, ...others } = question as ManifestRequest;
	const { start: _start, end: _end, ...release } = question as ReleaseRequest;
	return JSON.stringify([
		type,
		shard,
		type === "askRelease" ? release : others,
	]);
}

/** The questions about the objects of one kind: one at a time for each object. An answer stays until it is dropped. */
export class ArchiveQuestions {
	readonly #deps: { nats: NatsConnection; log: Logger };
	readonly #work: BackgroundWork<ArchiveAnswer["answer"]>;
	readonly #limit: FairLimit;

	/**
	 * @param atOnce of one account to one shard, so that no account keeps archive from the others; undefined for any number.
	 * @param onChange is to reconcile the key: the answer or some progress is there.
	 */
	constructor(
		deps: { nats: NatsConnection; log: Logger },
		atOnce: number | undefined,
		onChange: (key: ObjectKey) => void,
	) {
		this.#deps = deps;
		this.#work = new BackgroundWork(onChange);
		this.#limit = new FairLimit({ atOncePerOwner: atOnce ?? Infinity });
	}

	ask(object: KubeObject, ask: AskAction): void {
		const { type, shard, question } = ask;
		const { subjectOf, noAnswer } = questions[type];
		this.#work.begin(keyOf(object), aboutOf(ask), (signal, say) => {
			const request = () =>
				askArchive<ArchiveAnswer["answer"]>(
					this.#deps,
					{ subject: subjectOf(shard), shard },
					// By Date.now, which tests of clocks set.
					type === "askManifest"
						? { ...question, askedAt: new Date(Date.now()).toISOString() }
						: question,
					noAnswer,
					signal,
					say,
				);
			// A result is read at once, and its Job holds a slot.
			return type === "askResult"
				? request()
				: this.#limit.run(`${question.account} ${shard}`, request);
		});
	}

	answered(key: ObjectKey): ArchiveAnswer | undefined {
		const { about, outcome } = this.#work.outcome(key) ?? {};
		return about === undefined || !outcome
			? undefined
			: { about, answer: outcome };
	}

	/** How far archive is with the question that it was asked. */
	progressOf(key: ObjectKey): string | undefined {
		return this.#work.progressOf(key);
	}

	/** The object needs no answer now. */
	drop(key: ObjectKey): void {
		this.#work.drop(key);
	}
}

const questions: Record<
	QuestionType,
	{ subjectOf(shard: number): string; noAnswer: string }
> = {
	askManifest: { subjectOf: manifestSubject, noAnswer: "ManifestUnavailable" },
	askResult: { subjectOf: resultSubject, noAnswer: "ResultUnavailable" },
	askRelease: { subjectOf: releaseSubject, noAnswer: "ReleaseUnavailable" },
	askImport: { subjectOf: importSubject, noAnswer: "ImportUnavailable" },
	askErase: { subjectOf: erasureSubject, noAnswer: "EraseUnavailable" },
	askRetention: { subjectOf: retentionSubject, noAnswer: "ArchiveUnavailable" },
	askDeletion: { subjectOf: deletionSubject, noAnswer: "ArchiveUnavailable" },
};
