import type { UtcDate } from "../../../contracts/utc-date.ts";

/** What retention looks through in the bucket, and its own notes there; see {@link file://../s3/object-keys.ts ObjectKeys}. */
export class RetentionKeys {
	readonly #prefix: string;

	/** @param prefix Folder for all keys, without slashes around it; empty for the whole bucket. */
	constructor(prefix: string) {
		this.#prefix = prefix && `${prefix}/`;
	}

	events(): string {
		return `${this.#prefix}events/`;
	}

	cuts(): string {
		return `${this.#prefix}cuts/`;
	}

	/** Which objects of a date replace which. */
	compactions(): string {
		return `${this.#prefix}compactions/`;
	}

	/** Manifests of Runs. */
	runs(): string {
		return `${this.#prefix}runs/`;
	}

	/** Says that archive was at work on that day. */
	day(date: UtcDate): string {
		return `${this.days()}${date}`;
	}

	days(): string {
		return `${this.#prefix}days/`;
	}
}
