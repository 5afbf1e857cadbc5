import { type ObjectKey, textOf } from "../resource.ts";

/**
 * Work that takes longer than a worker should wait. It goes on while the workers serve other keys, and the key comes back
 * when its outcome is there. A restart forgets all of it and begins anew, so the work must be repeatable.
 */
export class BackgroundWork<Outcome> {
	readonly #onChange: (key: ObjectKey) => void;
	readonly #works = new Map<string, Work<Outcome>>();

	/** @param onChange is to reconcile the key: the outcome or some progress is there. */
	constructor(onChange: (key: ObjectKey) => void) {
		this.#onChange = onChange;
	}

	/**
	 * Starts the work, unless it goes on already. Work about something else begins anew, as does work whose outcome was seen. An
	 * outcome that came since then stays for the next look.
	 */
	begin(key: ObjectKey, about: string, work: BackgroundTask<Outcome>): void {
		const current = this.#works.get(textOf(key));
		if (current?.about === about && !current.isSeen) return;
		this.drop(key);
		const started: Work<Outcome> = { about, abort: new AbortController() };
		this.#works.set(textOf(key), started);
		const { signal } = started.abort;
		const record = (change: Pick<Work<Outcome>, "end" | "progress">) => {
			Object.assign(started, change);
			if (!signal.aborted) this.#onChange(key);
		};
		work(signal, (progress) => record({ progress })).then(
			(outcome) => record({ end: { outcome } }),
			(error: unknown) => record({ end: { error } }),
		);
	}

	/** What the key's work came to, which stays until it is dropped. What the work threw is thrown, once. */
	outcome(key: ObjectKey): { about: string; outcome: Outcome } | undefined {
		const current = this.#works.get(textOf(key));
		if (!current?.end) return undefined;
		const { about, end } = current;
		current.isSeen = true;
		if ("outcome" in end) return { about, outcome: end.outcome };
		this.#works.delete(textOf(key));
		throw end.error;
	}

	/** What the work that goes on has said of itself last. */
	progressOf(key: ObjectKey): string | undefined {
		const { end, progress } = this.#works.get(textOf(key)) ?? {};
		return end ? undefined : progress;
	}

	/** The object needs no outcome any more, or another one. */
	drop(key: ObjectKey): void {
		const text = textOf(key);
		this.#works.get(text)?.abort.abort();
		this.#works.delete(text);
	}
}

/** @param say what people may read of its progress. */
export type BackgroundTask<Outcome> = (
	signal: AbortSignal,
	say: (progress: string) => void,
) => Promise<Outcome>;

interface Work<Outcome> {
	about: string;
	abort: AbortController;
	progress?: string;
	end?: End<Outcome>;
	/** Whether somebody has seen the end. */
	isSeen?: boolean;
}

type End<Outcome> = { outcome: Outcome } | { error: unknown };
