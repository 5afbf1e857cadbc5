import { randomUUID } from "node:crypto";
import {
	createInbox,
	type NatsConnection,
	type Subscription,
} from "@nats-io/transport-node";
import {
	type TailedEvent,
	type TailMessage,
	type TailPosition,
	tailNoticeMs,
	tailRenewMs,
} from "../../packages/contracts/event-tail.ts";
import { tailSubject } from "../../packages/contracts/nats.ts";
import { backoffMs, pause } from "../../packages/service/pause.ts";
import type { TailListener, TailQuestion } from "../http/endpoint.ts";

/** The only one that the API's user may listen to. */
const inboxPrefix = "_INBOX_api";
const backoff = { baseMs: 250, maxMs: 3_000 };
/** Archive says more often that it is there. */
const silenceMs = 4 * tailNoticeMs;

/**
 * Follows a Source's events until the signal fires. Archive keeps nothing of a tail: when it is silent, or says that it ended,
 * another one is opened behind the last position, by whatever archive there is then.
 */
export async function followArchive(
	connection: () => NatsConnection,
	question: TailQuestion,
	listener: TailListener,
	signal: AbortSignal,
): Promise<void> {
	let { after } = question;
	let failures = 0;
	let shown: string | undefined;
	const show: TailListener["onArchive"] = (...now) => {
		if (shown !== String(now)) listener.onArchive(...now);
		shown = String(now);
	};
	while (!signal.aborted) {
		const lease = new TailLease(connection, { ...question, after });
		try {
			for await (const message of lease.messages(signal)) {
				failures = 0;
				show(true);
				const stream = message.position?.stream;
				const events = message.events.filter((event) =>
					isAfter(event, stream, after),
				);
				if (message.hasGap) listener.onLeftOut(undefined);
				if (events.length > 0) listener.onEvents(events, stream!);
				if (message.leftOut) listener.onLeftOut(message.leftOut);
				after = message.position ?? after;
			}
		} catch {
			// Another try says the same of whatever is wrong.
		} finally {
			lease.close();
		}
		if (signal.aborted) return;
		if (lease.isRefused) show(false, "TooManyTails");
		else show(false);
		await pause(backoffMs(++failures, backoff), signal);
	}
}

/** Of the archive before, the last message may have come late. A stream that was rebuilt counts anew. */
function isAfter(
	event: TailedEvent,
	stream: string | undefined,
	after: TailPosition | undefined,
): boolean {
	if (!after || after.stream !== stream) return true;
	if (event.sequence !== after.sequence) return event.sequence > after.sequence;
	return after.index !== undefined && event.index > after.index;
}

type Answer = Extract<TailMessage, { ok: true }>;

/** One tail of one archive process. */
class TailLease {
	readonly #connection: () => NatsConnection;
	readonly #question: TailQuestion;
	readonly #id = randomUUID();
	readonly #inbox = createInbox(inboxPrefix);
	/** Archive has as many tails as it may. */
	isRefused = false;
	#asked = 0;
	#renewOn: string | undefined;
	#subscription: Subscription | undefined;
	#timers: NodeJS.Timeout[] = [];

	constructor(connection: () => NatsConnection, question: TailQuestion) {
		this.#connection = connection;
		this.#question = question;
	}

	/** Ends when archive is silent or ends the tail. Throws while NATS is away. */
	async *messages(signal: AbortSignal): AsyncGenerator<Answer> {
		const nats = this.#connection();
		const { account, sourceKey, shard, withBody, after } = this.#question;
		const subscription = nats.subscribe(`${this.#inbox}.*`);
		this.#subscription = subscription;
		const end = () => subscription.unsubscribe();
		signal.addEventListener("abort", end, { once: true });
		const silence = setTimeout(end, silenceMs);
		this.#timers.push(
			silence,
			setInterval(() => this.#renew({}), tailRenewMs),
		);
		const request = {
			tail: this.#id,
			account,
			sourceKey,
			body: withBody,
			after,
		};
		nats.publish(tailSubject(shard), JSON.stringify(request), {
			reply: this.#newReply(),
		});
		try {
			for await (const message of subscription) {
				// No archive listens.
				if (message.headers?.code === 503) return;
				const said = message.json<TailMessage>();
				if (!said.ok) {
					this.isRefused = said.error.code === "TooManyTails";
					return;
				}
				silence.refresh();
				this.#renewOn = said.renewOn;
				yield said;
			}
		} finally {
			signal.removeEventListener("abort", end);
		}
	}

	close(): void {
		for (const timer of this.#timers) clearTimeout(timer);
		this.#subscription?.unsubscribe();
		this.#renew({ end: true });
	}

	#renew(change: { end?: true }): void {
		if (!this.#renewOn) return;
		try {
			this.#connection().publish(
				this.#renewOn,
				JSON.stringify({ tail: this.#id, ...change }),
				{ reply: this.#newReply() },
			);
		} catch {
			// NATS is away: the silence ends the tail.
		}
	}

	/** NATS permits archive so many answers on a reply subject and for so long, and doesn't begin anew when it sees it again. */
	#newReply(): string {
		return `${this.#inbox}.${this.#asked++}`;
	}
}
