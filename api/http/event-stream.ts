import { once } from "node:events";
import { PassThrough, type Writable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { ApiRequest } from "./endpoint.ts";
import { RequestError } from "./errors.ts";

/** Proxies close silent connections, and a client learns that the connection lives. */
const heartbeatMs = 10_000;
/** How long a client waits before it connects again. */
const retryMs = 2_000;

const slow =
	"The client reads more slowly than events come. Connect again with Last-Event-ID.";

/** An answer of server-sent events (WHATWG HTML, "Server-sent events"). A reader that falls behind is cut off. */
export class EventStream {
	/** The body of the answer. */
	readonly body = new PassThrough();
	readonly #over = new AbortController();
	readonly #maxUnreadBytes: number;
	readonly #answer: Writable | undefined;
	#hasEnded = false;

	/**
	 * @param maxUnreadBytes that a reader may leave unread. @param answer where the body goes: it holds a part that is on its way, however
	 * long that is.
	 */
	constructor(maxUnreadBytes = 1024 * 1024, answer?: Writable) {
		this.#maxUnreadBytes = maxUnreadBytes;
		this.#answer = answer;
		this.body.once("close", () => this.#over.abort());
	}

	/** Fires when it has ended, or the client has disconnected. */
	get signal(): AbortSignal {
		return this.#over.signal;
	}

	/** @param id what a client sends as `Last-Event-ID` when it connects again; without one, its last one stays. */
	send(event: string, data: object, id?: string): void {
		this.sendJson(event, JSON.stringify(data), id);
	}

	/** @param json one line. */
	sendJson(event: string, json: string, id?: string): void {
		this.#write(
			`${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${oneLine(json)}\n\n`,
		);
	}

	/**
	 * Settles when the reader has taken most of what was sent, or is gone.
	 * @param withinMs a reader that takes longer is cut off.
	 */
	async whenRead(withinMs?: number): Promise<void> {
		const late = withinMs === undefined ? [] : [AbortSignal.timeout(withinMs)];
		const signal = AbortSignal.any([this.signal, ...late]);
		for (const each of [this.body, this.#answer])
			if (each?.writableNeedDrain && !signal.aborted)
				await once(each, "drain", { signal }).catch(() => {});
		if (signal.aborted && !this.signal.aborted) this.end("SlowReader", slow);
	}

	heartbeat(): void {
		this.#write(": still here\n\n");
	}

	retryAfter(timeMs: number): void {
		this.#write(`retry: ${timeMs}\n\n`);
	}

	/** Says why it ends, and ends. */
	end(reason: string, message: string): void {
		if (this.#hasEnded) return;
		this.#hasEnded = true;
		this.body.end(
			`event: end\ndata: ${oneLine(JSON.stringify({ reason, message }))}\n\n`,
		);
		this.#over.abort();
	}

	#write(text: string): void {
		if (this.#hasEnded || this.signal.aborted) return;
		this.body.write(text);
		const unread = this.body.readableLength + this.body.writableLength;
		if (unread > this.#maxUnreadBytes) this.end("SlowReader", slow);
	}
}

/** JSON without the line ends of Unicode, at which readers in many languages split. They stand in strings only. */
function oneLine(json: string): string {
	return json.replace(
		/[\u0085\u2028\u2029]/g,
		(end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}

/**
 * The answer of an endpoint that streams for as long as `work` goes on: with heartbeats, until the API stops or the work fails,
 * which is logged.
 * @param name of the stream, for the log
 * @param every what is done meanwhile, each with its interval in ms
 */
export function answerWithStream(
	request: ApiRequest,
	reply: FastifyReply,
	stream: EventStream,
	{
		name,
		work,
		every,
	}: {
		name: string;
		work: () => Promise<unknown>;
		every: readonly (readonly [action: () => unknown, ms: number])[];
	},
): PassThrough {
	request
		.whenGone()
		.addEventListener("abort", () =>
			stream.end("Stopping", "The API is stopping. Connect again."),
		);
	stream.retryAfter(retryMs);
	const timers = [
		setInterval(() => stream.heartbeat(), heartbeatMs),
		...every.map(([action, ms]) => setInterval(action, ms)),
	];
	void work()
		.catch((error) => {
			request.server.apiLog.error({ err: error }, `${name} failed`);
			stream.end("Internal", "Internal error. Connect again.");
		})
		.finally(() => {
			for (const timer of timers) clearInterval(timer);
		});
	reply
		.type("text/event-stream; charset=utf-8")
		// nginx would hold events back.
		.header("x-accel-buffering", "no");
	return stream.body;
}

/** Bounds the streams of one sort that this process has open. */
export class OpenStreams {
	readonly #noun: string;
	readonly #most: { ofAccount: number; ofAll: number };
	readonly #byAccount = new Map<string, number>();
	#all = 0;

	/** @param noun in the plural, for people. */
	constructor(noun: string, most: { ofAccount: number; ofAll: number }) {
		this.#noun = noun;
		this.#most = most;
	}

	/** Takes a place, and returns what gives it back. Throws a 429 if there are too many. */
	enter(account: string): () => void {
		const { ofAccount, ofAll } = this.#most;
		const own = this.#byAccount.get(account) ?? 0;
		if (own >= ofAccount || this.#all >= ofAll)
			throw new RequestError(
				"RateLimited",
				own >= ofAccount
					? `The account has ${own} open ${this.#noun}, and may have no more. Close one, then retry.`
					: `Too many ${this.#noun} are open. Retry later.`,
				{ headers: { "retry-after": "10" } },
			);
		this.#byAccount.set(account, own + 1);
		this.#all++;
		let isOpen = true;
		return () => {
			if (!isOpen) return;
			isOpen = false;
			this.#all--;
			const left = this.#byAccount.get(account)! - 1;
			if (left > 0) this.#byAccount.set(account, left);
			else this.#byAccount.delete(account);
		};
	}
}
