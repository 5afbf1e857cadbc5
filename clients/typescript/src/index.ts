import { ApiError } from "./errors.ts";
import { Collections, PipelinesApi, RunsApi } from "./generated/operations.ts";
import type { RunStart } from "./generated/types.ts";
import { Api, type Token } from "./request.ts";
import { RunHandle } from "./run-handle.ts";

export * from "./errors.ts";
export type * from "./generated/types.ts";
export type { StreamedEvent, Token } from "./request.ts";
export * from "./run-errors.ts";
export { RunHandle, type WaitOptions } from "./run-handle.ts";

export interface TidemillOptions {
	/** Of the API, as https://tidemill-api.example/v1. TIDEMILL_API_URL if it is left out. */
	url?: string;
	/** TIDEMILL_API_TOKEN if it is left out. */
	token?: Token;
	/** The namespace, for a token that does not belong to a service account. */
	account?: string;
	/** How long a request is repeated while the API is unreachable or busy: 120,000 if it is left out. */
	retryMs?: number;
	fetch?: typeof fetch;
}

/** Tidemill's REST API. */
export class Tidemill extends Collections {
	override readonly pipelines: Pipelines;

	constructor(options: TidemillOptions = {}) {
		const api = new Api({
			url: options.url ?? variable("TIDEMILL_API_URL"),
			token: options.token ?? variable("TIDEMILL_API_TOKEN"),
			account: options.account,
			retryMs: options.retryMs ?? 120_000,
			fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
		});
		super(api);
		this.pipelines = new Pipelines(api);
	}

	/** A Run that was started before. */
	async run(name: string): Promise<RunHandle> {
		return new RunHandle(this.runs, await this.runs.get(name));
	}
}

export interface RunOptions extends RunStart {
	/** Accept the Run although the Pipeline can't run yet. It waits. */
	queue?: boolean;
	/** Names what is done. Within 24 hours, the same key is the same Run. */
	idempotencyKey?: string;
	/**
	 * How often that was tried, from 1. The Run of an earlier attempt is taken up again, unless it failed or was cancelled: then a
	 * new one starts.
	 */
	attempt?: number;
}

/** The operations of Pipelines, and `run`. */
export class Pipelines extends PipelinesApi {
	/** Starts a Run of a Pipeline. */
	async run(name: string, options: RunOptions = {}): Promise<RunHandle> {
		const {
			queue,
			idempotencyKey: key = crypto.randomUUID(),
			attempt = 1,
			...body
		} = options;
		if (!(attempt >= 1))
			throw new RangeError(`attempt must be 1 or more, not ${attempt}.`);
		const runs = new RunsApi(this.api);
		for (let number = 1; ; number++) {
			const idempotencyKey = number === 1 ? key : `${key} attempt ${number}`;
			try {
				const run = await this.startRun(name, body, {
					idempotencyKey,
					...(queue !== undefined && { queue }),
				});
				const hasFailed = ["Failed", "Cancelled"].includes(run.status);
				if (number >= attempt || !hasFailed) return new RunHandle(runs, run);
			} catch (error) {
				// A Pipeline removes its oldest Runs. If the Pipeline itself is gone, the last attempt says so.
				const isGone = error instanceof ApiError && error.status === 404;
				if (number >= attempt || !isGone) throw error;
			}
		}
	}
}

function variable(name: string): string {
	const { process } = globalThis as {
		process?: { env: Record<string, string | undefined> };
	};
	const value = process?.env[name];
	if (!value)
		throw new TypeError(
			`Tidemill needs its URL and a token. Pass them, or set ${name}.`,
		);
	return value;
}
