import { type ObjectKey, textOf } from "../resource.ts";

/**
 * Work that takes longer than a worker should wait. It goes on while the workers serve other keys, and the key comes back
 * when its outcome is there. A restart forgets all of it and begins anew, so the work must be repeatable.
 */
export class BackgroundWork<Outcome> {
	readonly #onNews: (key: ObjectKey) => void;
	readonly #works = new Map<string, Work<Outcome>>();

	/** @param onNews is to reconcile the key: the outcome or some progress is there. */
	constructor(onNews: (key: ObjectKey) => void) {
		this.#onNews = onNews;
	}

	/**
	 * The outcome, which stays until it is dropped; undefined while the work goes on, which starts with the first call. What
	 * the work threw is thrown, once.
	 * @param about what the work depends on. When that is another text, the work begins anew.
	 */
	outcomeOf(
		key: ObjectKey,
		about: string,
		work: BackgroundTask<Outcome>,
	): Outcome | undefined {
		const text = textOf(key);
		let current = this.#works.get(text);
		if (current?.about !== about) {
			this.drop(key);
			current = this.#start(key, about, work);
		}
		if (!current.end) return undefined;
		if ("outcome" in current.end) return current.end.outcome;
		this.#works.delete(text);
		throw current.end.error;
	}

	/**
	 * Starts the work, unless it goes on already. Work about something else begins anew, as does work whose outcome was seen. An
	 * outcome that came since then stays for the next look.
	 */
	begin(key: ObjectKey, about: string, work: BackgroundTask<Outcome>): void {
		const current = this.#works.get(textOf(key));
		if (current?.about === about && !current.isSeen) return;
		this.drop(key);
		this.#start(key, about, work);
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

	#start(
		key: ObjectKey,
		about: string,
		work: BackgroundTask<Outcome>,
	): Work<Outcome> {
		const started: Work<Outcome> = { about, abort: new AbortController() };
		this.#works.set(textOf(key), started);
		const { signal } = started.abort;
		const tell = (news: Pick<Work<Outcome>, "end" | "progress">) => {
			Object.assign(started, news);
			if (!signal.aborted) this.#onNews(key);
		};
		work(signal, (progress) => tell({ progress })).then(
			(outcome) => tell({ end: { outcome } }),
			(error: unknown) => tell({ end: { error } }),
		);
		return started;
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
