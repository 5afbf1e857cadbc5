import { type BackoffOptions, backoffMs } from "../../service/pause.ts";
import { KubeApiError } from "../client/errors.ts";

/** What Kubernetes refuses to do for an object. */
export interface Refusal {
	/** The apiserver's answer. An admission webhook's or a quota's words are in its message. */
	error: KubeApiError;
	/** When it was refused last, in milliseconds since 1970. */
	at: number;
	/** How often it was refused. */
	failures: number;
	/** When the request is due again, in milliseconds from now; 0 if it is. */
	retryInMs: number;
	/** Whether it may be a moment's error of the apiserver, which nobody needs to read. */
	mayPass: boolean;
}

/** Whether Kubernetes has answered that it doesn't write what it was asked to, or that we lack a right. */
export function isRefusal(error: unknown): error is KubeApiError {
	if (!(error instanceof KubeApiError)) return false;
	const { method = "GET" } = error.request ?? {};
	return method !== "GET" || error.status === 403;
}

/**
 * The refusals of a controller's objects, each with a backoff of its own. It outlives a success for a while, since the
 * request that failed may not have been among those that succeeded.
 */
export class RefusalBackoffs {
	readonly #known = new Map<string, Known>();
	readonly #backoff: BackoffOptions;

	constructor(backoff: BackoffOptions = { baseMs: 1_000, maxMs: 60_000 }) {
		this.#backoff = backoff;
	}

	/** Undefined if nothing is refused. */
	get(text: string): Refusal | undefined {
		const known = this.#known.get(text);
		if (!known || known.isSettled) return undefined;
		const { error, at, failures, dueMs } = known;
		return {
			error,
			at,
			failures,
			retryInMs: Math.max(0, dueMs - performance.now()),
			mayPass: failures === 1 && (error.status === 429 || error.status >= 500),
		};
	}

	add(text: string, error: KubeApiError): Refusal {
		const nowMs = performance.now();
		this.#forgetOld(nowMs);
		const failures = (this.#known.get(text)?.failures ?? 0) + 1;
		const waitMs = Math.max(
			backoffMs(failures, this.#backoff),
			Math.min(error.retryAfterMs ?? 0, this.#backoff.maxMs),
		);
		// Behind the others: the map is in the order of the failures.
		this.#known.delete(text);
		this.#known.set(text, {
			error,
			at: Date.now(),
			failures,
			failedMs: nowMs,
			dueMs: nowMs + waitMs,
			isSettled: false,
		});
		return this.get(text)!;
	}

	/** Somebody has changed the object: what was refused may be carried out now. */
	makeDue(text: string): void {
		const known = this.#known.get(text);
		if (known) known.dueMs = 0;
	}

	/** All that was due is done. Another refusal soon goes on with the same backoff. */
	settle(text: string): void {
		const known = this.#known.get(text);
		if (known) known.isSettled = true;
	}

	/** Of objects that are settled or gone. */
	#forgetOld(nowMs: number): void {
		for (const [text, { failedMs }] of this.#known) {
			if (nowMs - failedMs < 2 * this.#backoff.maxMs) return;
			this.#known.delete(text);
		}
	}
}

interface Known {
	error: KubeApiError;
	at: number;
	failures: number;
	/** By performance.now(), as the next. */
	failedMs: number;
	dueMs: number;
	isSettled: boolean;
}
