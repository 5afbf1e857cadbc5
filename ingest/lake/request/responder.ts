import type { Msg, NatsConnection } from "@nats-io/transport-node";
import {
	type ArchiveNotice,
	noticeIntervalMs,
} from "../../../packages/contracts/archive.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { subscribeLasting } from "../../../packages/service/nats/lasting-subscription.ts";
import { RequestFailure } from "./errors.ts";
import { type Question, type QuestionName, questions } from "./questions.ts";

/** Answers questions of operator, the API and other archives, and says meanwhile that it works on them. */
export class Responder {
	readonly #options: ResponderOptions;
	readonly #stopping = new AbortController();

	/** @param answers to what is asked on the subjects of this shard, or of any archive. */
	constructor(options: ResponderOptions, answers: Partial<Answers>) {
		this.#options = options;
		const answered = Object.entries(answers) as [QuestionName, Answer][];
		for (const [name, answer] of answered) this.#subscribe(name, answer);
	}

	#subscribe(name: QuestionName, answer: Answer): void {
		const { connection, shard, log } = this.#options;
		const { read, ...question } = questions[name];
		const subject = question.subject(shard);
		const work: RequestWork = (text, task) => answer(read(text), task);
		subscribeLasting({
			...{ connection, subject, log },
			// Any archive of the shard can answer.
			queue: "archive",
			onMessage: (message) => void this.#respond(message, subject, work),
			signal: this.#stopping.signal,
		});
	}

	/** Takes no more requests, and tells the waiting ones to try again. */
	close(): void {
		this.#stopping.abort(
			new RequestFailure("ShardNotReady", "Archive is stopping"),
		);
	}

	async #respond(
		message: Msg,
		subject: string,
		work: RequestWork,
	): Promise<void> {
		const { log } = this.#options;
		let response: object | Uint8Array;
		const task: RequestTask = { stopping: this.#stopping.signal };
		const notices = setInterval(() => {
			if (!task.stopping.aborted) this.#send(message, noticeOf(task));
		}, noticeIntervalMs);
		try {
			this.#options.requireReady?.();
			response = await work(message.string(), task);
		} catch (error) {
			const failure = failureOf(error);
			log.warn({ err: failure, subject }, "a request failed");
			response = { ok: false, error: failure.toAnswer() };
		} finally {
			clearInterval(notices);
		}
		const answered =
			response instanceof Uint8Array ? response : JSON.stringify(response);
		const problem = this.#send(message, answered);
		if (!problem) return;
		const failure = new RequestFailure(
			"AnswerUnsendable",
			`The answer of ${Buffer.byteLength(answered)} bytes can't be sent`,
			{ internals: problem },
		);
		log.warn({ err: failure, subject }, "an answer can't be sent");
		this.#send(
			message,
			JSON.stringify({ ok: false, error: failure.toAnswer() }),
		);
	}

	/** The NATS client throws if the message is too large or the connection closed. Returns why. */
	#send(message: Msg, payload: string | Uint8Array): string | undefined {
		try {
			message.respond(payload);
			return undefined;
		} catch (error) {
			return reasonOf(error);
		}
	}
}

interface ResponderOptions {
	connection: NatsConnection;
	shard: number;
	log: Logger;
	/** Throws {@link RequestFailure} while nothing is answered. */
	requireReady?: () => void;
}

/**
 * Answers one request. Throws {@link RequestFailure} to refuse it; any other error counts as the store's. The response is
 * sent as JSON, or as its bytes.
 */
export type Answers = {
	[Name in QuestionName]: (typeof questions)[Name] extends Question<
		infer Request,
		infer Response
	>
		? (request: Request, task: RequestTask) => Promise<Response>
		: never;
};

/** Of any question. */
type Answer = (
	request: unknown,
	task: RequestTask,
) => Promise<object | Uint8Array>;

type RequestWork = (
	text: string,
	task: RequestTask,
) => Promise<object | Uint8Array>;

/** The work on one request. */
export interface RequestTask {
	/** Fires when archive stops. */
	readonly stopping: AbortSignal;
	/** How far the work is, for people. Whoever works sets it. */
	progress?: (() => string) | undefined;
}

function noticeOf({ progress }: RequestTask): string {
	const said = progress && { progress: progress() };
	return JSON.stringify({ working: true, ...said } satisfies ArchiveNotice);
}

/** Any error as a refusal that says nothing about the platform. */
export function failureOf(error: unknown): RequestFailure {
	if (error instanceof RequestFailure) return error;
	// What JSON.parse says quotes the text, which may be an event's.
	const options =
		error instanceof SyntaxError
			? { internals: "A stored text isn't JSON" }
			: { cause: error, internals: reasonOf(error) };
	return new RequestFailure(
		"StoreUnavailable",
		"The object store can't be used just now",
		options,
	);
}

function reasonOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
