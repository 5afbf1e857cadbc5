import { randomUUID } from "node:crypto";
import { DeliverPolicy, jetstreamManager } from "@nats-io/jetstream";
import type {
	Msg,
	NatsConnection,
	Subscription,
} from "@nats-io/transport-node";
import type {
	TailMessage,
	TailRequest,
} from "../../../packages/contracts/event-tail.ts";
import {
	framesSubject,
	tailSubject,
} from "../../../packages/contracts/nats.ts";
import { FairLimit } from "../../../packages/fair/fair-limit.ts";
import type { FairRoom } from "../../../packages/fair/fair-room.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { FrameBatches } from "../../archive/read/frame-batches.ts";
import { scanFrame } from "../../wire/frame-scan.ts";
import { RequestFailure } from "../request/errors.ts";
import { readTailRenewal, readTailRequest } from "../request/questions.ts";
import { failureOf } from "../request/responder.ts";
import { catchUp } from "./catch-up.ts";
import { HeldFrames } from "./held-frames.ts";
import { TailLease } from "./lease.ts";

export interface ShardTailsOptions {
	connection: NatsConnection;
	shard: number;
	/** Of all shards of this process. */
	held: FairRoom;
	log: Logger;
}

const maxTails = 100;
const maxTailsOfAccount = 10;
/** How often messages are sent, if there is something to say. */
const sendEveryMs = 100;

interface Tail {
	lease: TailLease;
	/** The API's latest message, whose reply subject it listens to. */
	asked: Msg;
	/** New frames that wait for the earlier ones that the tail asked for; undefined for none. */
	held: HeldFrames | undefined;
}

/**
 * The live tails of one shard. While there is any, an ordered consumer beside archiving's reads the new frames, so a tail
 * goes on while the store is away, and archiving never waits for it. A tail gets the events of its Source alone.
 */
export class ShardTails {
	readonly #options: ShardTailsOptions;
	readonly #subscriptions: Subscription[];
	readonly #renewOn = tailSubject(randomUUID());
	readonly #tails = new Map<string, Tail>();
	/** Reading earlier frames takes turns. */
	readonly #turns = new FairLimit({ atOnce: 1 });
	#reading: { stream: string; reader: FrameBatches } | undefined;
	#opening: Promise<string> | undefined;
	#timer: NodeJS.Timeout | undefined;

	constructor(options: ShardTailsOptions) {
		this.#options = options;
		const { connection, shard } = options;
		this.#subscriptions = [
			// Any archive of the shard can have it.
			connection.subscribe(tailSubject(shard), {
				queue: "archive",
				callback: (error, message) => {
					if (!error) void this.#open(message);
				},
			}),
			connection.subscribe(this.#renewOn, {
				callback: (error, message) => {
					if (!error) this.#renew(message);
				},
			}),
		];
	}

	get shard(): number {
		return this.#options.shard;
	}

	/** How many are open. */
	get size(): number {
		return this.#tails.size;
	}

	close(): void {
		for (const subscription of this.#subscriptions) subscription.unsubscribe();
		this.#endAll("Archive is stopping");
	}

	async #open(asked: Msg): Promise<void> {
		const request = orRefusal(asked, readTailRequest);
		if (!request) return;
		const refusal = this.#refusalOf(request);
		if (refusal) {
			respond(asked, refusal);
			return;
		}
		const lease = new TailLease(request, performance.now());
		const held = new HeldFrames(this.#options.held, request.account);
		const tail: Tail = { lease, asked, held };
		this.#tails.set(request.tail, tail);
		this.#timer ??= setInterval(() => this.#send(), sendEveryMs);
		try {
			const stream = await this.#opened();
			const { connection } = this.#options;
			await catchUp({
				connection,
				stream,
				lease,
				turns: this.#turns,
				isWanted: () => this.#tails.has(request.tail),
			});
			for (const { sequence, scanned } of held.letGo())
				lease.take(stream, sequence, scanned, performance.now());
			tail.held = undefined;
		} catch (error) {
			this.#end(request.tail, failureOf(error).message);
		}
	}

	#refusalOf({ tail, account }: TailRequest): TailMessage | undefined {
		if (this.#tails.has(tail))
			return failure("QuestionInvalid", "a tail of this name is open");
		const ofAccount = [...this.#tails.values()].filter(
			({ lease }) => lease.request.account === account,
		).length;
		if (ofAccount < maxTailsOfAccount && this.#tails.size < maxTails)
			return undefined;
		return failure(
			"TooManyTails",
			`${ofAccount} tails of this account are open, and ${this.#tails.size} in all`,
		);
	}

	#renew(message: Msg): void {
		const renewal = orRefusal(message, readTailRenewal);
		if (!renewal) return;
		const { tail: id, end } = renewal;
		const tail = this.#tails.get(id);
		if (!tail) respond(message, failure("TailUnknown", "the tail has ended"));
		else if (end) this.#remove(id);
		else {
			tail.asked = message;
			tail.lease.renew(performance.now());
		}
	}

	/** The stream whose new frames are being read from now on. */
	#opened(): Promise<string> {
		if (this.#reading) return Promise.resolve(this.#reading.stream);
		this.#opening ??= this.#startReading().finally(() => {
			this.#opening = undefined;
		});
		return this.#opening;
	}

	async #startReading(): Promise<string> {
		const { connection, shard, log } = this.#options;
		const { streams } = await jetstreamManager(connection, { checkAPI: false });
		const stream = await streams.find(framesSubject(shard));
		const reader = await FrameBatches.open(connection, stream, {
			deliver_policy: DeliverPolicy.New,
		});
		this.#reading = { stream, reader };
		reader
			.run((sequence, bytes) => this.#take(stream, sequence, bytes))
			.catch((error) => {
				log.info({ shard, err: error }, "reading for live tails failed");
			})
			.finally(() => {
				if (this.#reading?.reader !== reader) return;
				this.#reading = undefined;
				this.#endAll("reading the stream failed");
				void reader.close();
			});
		return stream;
	}

	#take(stream: string, sequence: number, bytes: Uint8Array): boolean {
		const tails = [...this.#tails.values()];
		const wanted = new Set(tails.map(({ lease }) => lease.request.sourceKey));
		const scanned = scanFrame(bytes, (key) => wanted.has(key));
		for (const { lease, held } of tails) {
			const own = scanned.filter(
				({ event }) => event.sourceKey === lease.request.sourceKey,
			);
			if (!held) lease.take(stream, sequence, own, performance.now());
			// An empty frame only moves the position on.
			else if (
				own.length > 0 &&
				!held.add({ sequence, scanned: own }, bytes.length)
			)
				lease.skip();
		}
		return tails.length > 0;
	}

	#send(): void {
		const nowMs = performance.now();
		for (const [id, { lease, asked }] of this.#tails) {
			if (lease.hasEnded(nowMs)) {
				this.#remove(id);
				continue;
			}
			const message = lease.message(this.#renewOn, nowMs);
			if (message) respond(asked, message);
		}
	}

	#end(id: string, reason: string): void {
		const tail = this.#tails.get(id);
		if (!tail) return;
		// What was read is shown; the API asks for the rest.
		const rest = tail.lease.message(this.#renewOn, performance.now());
		if (rest) respond(tail.asked, rest);
		respond(tail.asked, failure("TailEnded", reason));
		this.#remove(id);
	}

	#endAll(reason: string): void {
		for (const id of this.#tails.keys()) this.#end(id, reason);
	}

	#remove(id: string): void {
		this.#tails.get(id)?.held?.letGo();
		this.#tails.delete(id);
		if (this.#tails.size > 0) return;
		clearInterval(this.#timer);
		this.#timer = undefined;
		void this.#reading?.reader.close();
		this.#reading = undefined;
	}
}

function failure(code: string, message: string): TailMessage {
	return { ok: false, error: { code, message } };
}

/** What the message asks for; undefined if it is invalid, which is answered. */
function orRefusal<T>(message: Msg, read: (text: string) => T): T | undefined {
	try {
		return read(message.string());
	} catch (error) {
		const code = error instanceof RequestFailure ? error.code : "TailEnded";
		respond(message, failure(code, failureOf(error).message));
		return undefined;
	}
}

function respond(asked: Msg, message: TailMessage): void {
	try {
		asked.respond(JSON.stringify(message));
	} catch {
		// The message is too large or the connection closed. Without a message, the API opens another tail.
	}
}
