import type {
	Msg,
	NatsConnection,
	Subscription,
} from "@nats-io/transport-node";
import {
	type ArchiveNotice,
	noticeIntervalMs,
} from "../../../packages/contracts/archive.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { pause } from "../../../packages/service/pause.ts";
import { RequestFailure } from "./errors.ts";

const retryMs = 5_000;

/** Answers operator's requests on one subject, and says meanwhile that it works on them. */
export class Responder<Request = unknown> {
	readonly #options: ResponderOptions<Request>;
	#subscription: Subscription;
	readonly #stopping = new AbortController();

	constructor(options: ResponderOptions<Request>) {
		this.#options = options;
		this.#subscription = this.#subscribe();
	}

	#subscribe(): Subscription {
		const { connection, subject, log } = this.#options;
		return connection.subscribe(subject, {
			// Any archive of the shard can answer.
			queue: "archive",
			callback: (error, message) => {
				if (!error) return void this.#respond(message);
				log.error(
					{ err: error, subject },
					"requests can't be received. If NATS refuses the subject, give its user for archive the permissions of this version",
				);
				void this.#subscribeAgain();
			},
		});
	}

	/** During an upgrade archive may be newer than what NATS permits. The client forgets a subscription that was refused. */
	async #subscribeAgain(): Promise<void> {
		const { signal } = this.#stopping;
		await pause(retryMs * (0.5 + Math.random()), signal);
		if (signal.aborted || this.#options.connection.isClosed()) return;
		this.#subscription.unsubscribe();
		this.#subscription = this.#subscribe();
	}

	/** Takes no more requests, and tells the waiting ones to try again. */
	close(): void {
		this.#subscription.unsubscribe();
		this.#stopping.abort(
			new RequestFailure("ShardNotReady", "Archive is stopping"),
		);
	}

	async #respond(message: Msg): Promise<void> {
		const { read, answer, log, subject } = this.#options;
		let response: object | Uint8Array;
		const task: RequestTask = { stopping: this.#stopping.signal };
		const notices = setInterval(() => {
			if (!task.stopping.aborted) this.#send(message, noticeOf(task));
		}, noticeIntervalMs);
		try {
			response = await answer(read(message.string()), task);
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

/** What is asked on a subject, and who answers it. */
export interface LakeQuestion<Request> {
	subject: string;
	/** As {@link file://./schema.ts requestOf} makes it. */
	read: (text: string) => Request;
	/**
	 * Answers one request. Throws {@link RequestFailure} to refuse it; any other error counts as the store's. The response is
	 * sent as JSON, or as its bytes.
	 */
	answer(request: Request, task: RequestTask): Promise<object | Uint8Array>;
}

type ResponderOptions<Request> = LakeQuestion<Request> & {
	connection: NatsConnection;
	log: Logger;
};

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
	const options = { cause: error, internals: reasonOf(error) };
	return new RequestFailure(
		"StoreUnavailable",
		"The object store can't be used just now",
		options,
	);
}

function reasonOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
