/** Bounds what is held in memory at once: requests that aren't answered, and bytes of bodies that aren't stored. */
export class Budget {
	requests = 0;
	bytes = 0;
	readonly #maxRequests: number;
	readonly #maxBytes: number;

	constructor(maxRequests: number, maxBytes: number) {
		this.#maxRequests = maxRequests;
		this.#maxBytes = maxBytes;
	}

	/** Counts a request in; false when there is no room for it. */
	enter(): boolean {
		if (this.requests >= this.#maxRequests) return false;
		this.requests++;
		return true;
	}

	leave(): void {
		this.requests--;
	}

	/** Counts bytes in; false when there is no room for them. */
	take(bytes: number): boolean {
		if (this.bytes + bytes > this.#maxBytes) return false;
		this.bytes += bytes;
		return true;
	}

	give(bytes: number): void {
		this.bytes -= bytes;
	}
}
