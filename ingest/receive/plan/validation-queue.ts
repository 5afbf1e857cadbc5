import { OwnerTurns } from "../../../packages/fair/fair-limit.ts";
import { type RequestRefusal, refusals } from "../request/refusal.ts";
import type {
	BatchAnswer,
	EventBatch,
	PlanVerdict,
} from "./thread-messages.ts";
import type { ValidationThread } from "./validation-thread.ts";

/** An event that waits for its verdict. Its bytes are part of receive's budget. */
interface WaitingEvent {
	account: string;
	/** Id of the plan. */
	plan: number;
	/** The value of the header that the plan names as the event's type. */
	header: string | undefined;
	/** JSON text. */
	parts: readonly Uint8Array[];
	bytes: number;
	/** When it was received, on the clock of {@link ValidationQueueOptions.now}. */
	waitingSinceMs: number;
	/** Called once. */
	onValidated(verdict: PlanVerdict | RequestRefusal): void;
}

interface ValidationQueueOptions {
	thread: Pick<
		ValidationThread,
		"isUp" | "validate" | "forget" | "isPenalized"
	>;
	/** Runs a function after all input that is waiting now has been read. */
	defer(run: () => void): void;
	/** Milliseconds of a clock that never jumps. */
	now(): number;
}

/** One is validated while the next is packed. */
const maxBatchesInFlight = 2;
const maxBatchEvents = 128;
/** A larger body goes alone. */
const maxBatchBytes = 256 * 1024;
/** How long a sender waits while nothing is validated, and while something is, as for the commit. */
const maxWaitStuckMs = 800;
const maxWaitMs = 10_000;
/** What an account's events may take in a batch before its next ones wait until others have had as much. */
const freeMs = 1;

/**
 * Sends events to the validation thread in batches: those that came in one turn of the event loop, accounts in turns. An account
 * whose events are costly gets no more of the thread's time than those who wait beside it.
 */
export class ValidationQueue {
	readonly #options: ValidationQueueOptions;
	readonly #turns = new OwnerTurns<WaitingEvent>();
	readonly #memory = new BatchMemory();
	#isSending = false;
	/** How much of the thread's time others get before the account's next turn. */
	readonly #owedMs = new Map<string, number>();
	/** Plans that are over. Events that came before wait for their verdicts. */
	readonly #ending = new Set<number>();
	/** Batches that the thread has, the oldest first. Events whose senders have an answer are undefined. */
	readonly #sent: { events: (WaitingEvent | undefined)[]; sentAtMs: number }[] =
		[];

	constructor(options: ValidationQueueOptions) {
		this.#options = options;
	}

	add(event: WaitingEvent): void {
		if (this.#options.thread.isPenalized(event.plan)) {
			event.onValidated(refusals.TrackingPlanUnavailable);
			return;
		}
		this.#turns.add(event.account, event);
		this.sendSoon();
	}

	/** The thread forgets the plan once no event waits for its verdict: a plan is replaced while events come. */
	forget(plan: number): void {
		this.#ending.add(plan);
	}

	/** Waits for the rest of the event loop's turn, so that a batch holds all requests that one turn reads. */
	sendSoon(): void {
		if (this.#isSending) return;
		this.#isSending = true;
		this.#options.defer(() => {
			this.#isSending = false;
			this.#send();
		});
	}

	/** Call it a few times a second. It answers senders who have waited long enough, and has plans that are over forgotten. */
	tick(): void {
		const { thread, now } = this.#options;
		const [oldest] = this.#sent;
		const isStuck =
			!thread.isUp || (oldest && now() - oldest.sentAtMs >= maxWaitStuckMs);
		const untilMs = now() - (isStuck ? maxWaitStuckMs : maxWaitMs);
		const refusal = isStuck
			? refusals.TrackingPlanUnavailable
			: refusals.Overloaded;
		const isKept = (event: WaitingEvent) => {
			if (event.waitingSinceMs > untilMs) return true;
			event.onValidated(refusal);
			return false;
		};
		for (const { events } of this.#sent)
			for (const [i, event] of events.entries())
				if (event && !isKept(event)) events[i] = undefined;
		const waiting: WaitingEvent[] = [];
		for (let next = this.#turns.take(); next; next = this.#turns.take())
			if (isKept(next.item)) waiting.push(next.item);
		for (const event of waiting) this.#turns.add(event.account, event);
		if (this.#ending.size > 0) this.#forgetEnded(waiting);
	}

	#forgetEnded(waiting: readonly WaitingEvent[]): void {
		const sent = this.#sent.flatMap(({ events }) => events);
		const needed = new Set([...waiting, ...sent].map((event) => event?.plan));
		for (const plan of this.#ending)
			if (!needed.has(plan)) {
				this.#ending.delete(plan);
				this.#options.thread.forget(plan);
			}
	}

	#send(): void {
		const { thread, now } = this.#options;
		while (
			thread.isUp &&
			this.#sent.length < maxBatchesInFlight &&
			this.#turns.size > 0
		) {
			const events = this.#next();
			if (events.length === 0) return;
			this.#sent.push({ events, sentAtMs: now() });
			thread.validate(this.#memory.pack(events), (answer) =>
				this.#validated(this.#sent.shift()!.events, answer),
			);
		}
	}

	#next(): WaitingEvent[] {
		const events: WaitingEvent[] = [];
		let bytes = 0;
		while (events.length < maxBatchEvents) {
			const next = this.#take();
			if (!next) break;
			bytes += next.bytes;
			if (bytes > maxBatchBytes && events.length > 0) {
				this.#turns.putBack(next.account, next);
				break;
			}
			events.push(next);
		}
		return events;
	}

	/**
	 * The next account's oldest event. Accounts that owe others time are passed over. If all do, and
	 * others' events aren't being validated, who owes least is next.
	 */
	#take(): WaitingEvent | undefined {
		let first: string | undefined;
		let leastMs = Number.POSITIVE_INFINITY;
		for (;;) {
			const next = this.#turns.take();
			if (!next) return undefined;
			const { owner, item } = next;
			if (owner === first) {
				if (this.#isValidatingOthersThan(owner)) {
					this.#turns.putBack(owner, item);
					return undefined;
				}
				this.#pay(() => leastMs);
				first = undefined;
				leastMs = Number.POSITIVE_INFINITY;
			}
			const owedMs = this.#owedMs.get(owner);
			if (owedMs === undefined) return item;
			leastMs = Math.min(leastMs, owedMs);
			first ??= owner;
			this.#turns.putBack(owner, item);
		}
	}

	#isValidatingOthersThan(account: string): boolean {
		return this.#sent.some(({ events }) =>
			events.some((event) => event && event.account !== account),
		);
	}

	#pay(msOf: (account: string) => number): void {
		for (const [account, owedMs] of this.#owedMs) {
			const leftMs = owedMs - msOf(account);
			if (leftMs > 0) this.#owedMs.set(account, leftMs);
			else this.#owedMs.delete(account);
		}
	}

	#validated(
		events: readonly (WaitingEvent | undefined)[],
		answer: BatchAnswer | undefined,
	): void {
		if (!answer) {
			for (const event of events)
				event?.onValidated(refusals.TrackingPlanUnavailable);
			return;
		}
		const { verdicts, tookMs, bytes } = answer;
		this.#memory.giveBack(bytes);
		this.#charge(events, tookMs);
		for (const event of events.slice(verdicts.length).reverse())
			if (event) this.#turns.putBack(event.account, event);
		// The thread gets its next batch before the senders get their answers.
		this.#send();
		for (const [i, verdict] of verdicts.entries())
			events[i]?.onValidated(verdict);
	}

	#charge(
		events: readonly (WaitingEvent | undefined)[],
		tookMs: readonly number[],
	): void {
		const costs = new Map<string, number>();
		for (const [i, ms] of tookMs.entries()) {
			const account = events[i]?.account ?? "";
			costs.set(account, (costs.get(account) ?? 0) + ms);
		}
		const totalMs = tookMs.reduce((sum, ms) => sum + ms, 0);
		this.#pay((account) => totalMs - (costs.get(account) ?? 0));
		for (const [account, ms] of costs)
			if (ms > freeMs)
				this.#owedMs.set(account, (this.#owedMs.get(account) ?? 0) + ms);
	}
}

/** Packs bodies into memory that the validation thread gets and gives back. */
class BatchMemory {
	readonly #spare: ArrayBuffer[] = [];

	pack(events: readonly WaitingEvent[]): EventBatch {
		const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
		const memory =
			bytes > maxBatchBytes
				? new ArrayBuffer(bytes)
				: (this.#spare.pop() ?? new ArrayBuffer(maxBatchBytes));
		const all = new Uint8Array(memory);
		const ends: number[] = [];
		let at = 0;
		for (const { parts } of events) {
			for (const part of parts) {
				all.set(part, at);
				at += part.length;
			}
			ends.push(at);
		}
		return {
			plans: events.map(({ plan }) => plan),
			headers: events.map(({ header }) => header),
			ends,
			bytes: memory,
		};
	}

	giveBack(memory: ArrayBuffer): void {
		if (memory.byteLength === maxBatchBytes) this.#spare.push(memory);
	}
}
