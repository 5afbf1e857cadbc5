import { setTimeout as delay } from "node:timers/promises";

/** How long a server may take to answer. */
const answerTimeoutMs = 5_000;
/** After this time without a byte a download is cut. */
const stallTimeoutMs = 30_000;
/** How often a download that was cut goes on. */
const mostResumes = 3;
const resumePauseMs = 500;
/** When the rate of a download is first judged. */
const judgedAfterMs = 10_000;
/** More than any release: kubernetes-server has several hundred megabytes. */
const mostBytes = 2e9;

/** Why a file could not be downloaded. The caller may build it instead. */
export class DownloadFailure extends Error {
	override name = "DownloadFailure";
}

export interface Received {
	bytes: number;
	/** Undefined if the server doesn't say it. */
	total: number | undefined;
	/** What the rest takes at the rate so far. */
	secondsLeft: number | undefined;
}

/** One GET of a site. */
interface Answer {
	response: Response;
	/** Ends the transfer. */
	abort: AbortController;
}

/** Asks publishers' sites. */
export class SiteClient {
	readonly #signal: AbortSignal;

	constructor(signal: AbortSignal) {
		this.#signal = signal;
	}

	/** A small file of text. Throws {@link DownloadFailure}. */
	async text(url: string): Promise<string> {
		const { response, abort } = await this.#get(url);
		const timer = setTimeout(() => abort.abort(), stallTimeoutMs);
		try {
			return await response.text();
		} catch (error) {
			this.#signal.throwIfAborted();
			throw new DownloadFailure(`${url} broke off: ${reason(error)}`);
		} finally {
			clearTimeout(timer);
		}
	}

	/**
	 * A gzipped file, piece by piece. After a cut it goes on where it was. Throws {@link DownloadFailure}, also when after ten
	 * seconds the rest would take longer than `longestSeconds`.
	 */
	async *gzip(
		url: string,
		longestSeconds: number,
		onReceived: (received: Received) => void,
	): AsyncGenerator<Uint8Array> {
		const startedMs = Date.now();
		let bytes = 0;
		let total: number | undefined;
		let cut: string | undefined;
		let answer: Answer | undefined;
		try {
			for (let resumes = 0; resumes <= mostResumes; resumes++) {
				const next =
					resumes === 0
						? await this.#get(url)
						: await this.#resume(url, bytes, total, resumes * resumePauseMs);
				if (typeof next === "string") {
					cut = next;
					continue;
				}
				answer = next;
				total ??= lengthOf(answer.response);
				const pieces = this.#pieces(answer);
				let piece = await pieces();
				for (; piece instanceof Uint8Array; piece = await pieces()) {
					if (bytes === 0) refuseOther(url, answer.response, piece);
					bytes += piece.length;
					if (bytes > (total ?? mostBytes))
						throw new DownloadFailure(
							`${url} sent more than ${megabytes(total ?? mostBytes)}`,
						);
					const tookMs = Date.now() - startedMs;
					const secondsLeft =
						total && ((total - bytes) / bytes) * (tookMs / 1000);
					onReceived({ bytes, total, secondsLeft });
					if (tookMs > judgedAfterMs && (secondsLeft ?? 0) > longestSeconds)
						throw new DownloadFailure(
							`at ${megabytes((bytes * 1000) / tookMs)}/s, ${url} takes ${minutes(secondsLeft!)} more`,
						);
					yield piece;
				}
				cut = piece;
				if (cut === undefined && bytes === (total ?? bytes)) return;
			}
			throw new DownloadFailure(
				`${url} broke off after ${megabytes(bytes)}${total ? ` of ${megabytes(total)}` : ""}: ${cut ?? "it ended early"}`,
			);
		} finally {
			// Also when whoever reads has had enough.
			answer?.abort.abort();
		}
	}

	/** After a pause, the rest of a file from this byte on, or why it can't be had now. */
	async #resume(
		url: string,
		from: number,
		total: number | undefined,
		pauseMs: number,
	): Promise<Answer | string> {
		await delay(pauseMs, undefined, { signal: this.#signal });
		try {
			const headers = { range: `bytes=${from}-` };
			const answer = await this.#get(url, from > 0 ? headers : {});
			const range = answer.response.headers.get("content-range") ?? "";
			const expected = `bytes ${from}-${total ? `${total - 1}/${total}` : ""}`;
			if (from === 0 || range.startsWith(expected)) return answer;
			await answer.response.body?.cancel();
			return `asked for the rest, it sent ${range || "no range"}`;
		} catch (error) {
			if (error instanceof DownloadFailure) return error.message;
			throw error;
		}
	}

	/** Returns a function that waits for the next piece: undefined at the end, a text when the transfer was cut. */
	#pieces({
		response,
		abort,
	}: Answer): () => Promise<Uint8Array | string | undefined> {
		const reader = response.body!.getReader();
		return async () => {
			const timer = setTimeout(() => abort.abort(), stallTimeoutMs);
			try {
				return (await reader.read()).value;
			} catch (error) {
				this.#signal.throwIfAborted();
				return abort.signal.aborted ? "it stopped sending" : reason(error);
			} finally {
				clearTimeout(timer);
			}
		};
	}

	async #get(url: string, headers = {}): Promise<Answer> {
		const abort = new AbortController();
		const timer = setTimeout(
			() => abort.abort(new Error(`no answer in ${answerTimeoutMs / 1000} s`)),
			answerTimeoutMs,
		);
		try {
			const response = await fetch(url, {
				// The digest is of the file as it is, not of what a server makes of it on the way.
				headers: { "accept-encoding": "identity", ...headers },
				signal: AbortSignal.any([abort.signal, this.#signal]),
			});
			if (response.ok && response.body) return { response, abort };
			await response.body?.cancel();
			throw new DownloadFailure(`${url} answered ${response.status}`);
		} catch (error) {
			this.#signal.throwIfAborted();
			if (error instanceof DownloadFailure) throw error;
			throw new DownloadFailure(
				`${new URL(url).origin} can't be reached: ${reason(error)}`,
			);
		} finally {
			clearTimeout(timer);
		}
	}
}

/** A portal's login page, or what somebody on the way has encoded once more. */
function refuseOther(url: string, response: Response, first: Uint8Array): void {
	const encoding = response.headers.get("content-encoding");
	if (encoding && encoding !== "identity")
		throw new DownloadFailure(`${url} came with the encoding ${encoding}`);
	// RFC 1952 §2.3.1
	if (first[0] !== 0x1f || (first[1] ?? 0x8b) !== 0x8b)
		throw new DownloadFailure(
			`${url} sent no gzip but ${response.headers.get("content-type") ?? "something else"}`,
		);
}

function lengthOf(response: Response): number | undefined {
	return Number(response.headers.get("content-length")) || undefined;
}

/** fetch puts the system's reason into `cause`. */
function reason(error: unknown): string {
	const { message, cause } = error as Error;
	return cause instanceof Error ? cause.message : message;
}

export function megabytes(bytes: number): string {
	return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** `40 s`, `3 min` */
export function minutes(seconds: number): string {
	return seconds < 60
		? `${Math.ceil(seconds)} s`
		: `${Math.ceil(seconds / 60)} min`;
}
